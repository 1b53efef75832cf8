"""No secret of a URL is printed, wherever it stands and however it is encoded."""

import logging

import pytest
import sqlalchemy as sa
from typer.testing import CliRunner

import dmsjournal as dj
from dmsjournal import cli
from dmsjournal.database.connect import checked_url
from dmsjournal.database.urls import secrets_of, shown
from dmsjournal.http.logs import JsonLines

URLS = [
    "mssql+pyodbc:///?odbc_connect=DRIVER%3Dx%3BPWD%3Dgeheim",
    "mssql+pyodbc://?odbc_connect=DRIVER%3Dx%3BPWD%3Dgeheim",
    "mssql+pyodbc:///?ODBC_Connect=DRIVER%253Dx%253BPWD%253Dgeheim",
    "mssql+pyodbc://h/d;PWD=geheim",
    "mssql+pyodbc://h/d;PWD=geheim?Foo=1",
    "mssql+pyodbc://h/?Pwd=geheim",
    "mssql+pyodbc://h/d?driver=x;Pwd=geheim&driver=y",
    "mssql+pyodbc://h/d?driver=ODBC+Driver+18+for+SQL+Server&APP=Pwd%3Dgeheim&Foo=1",
    "postgresql://u:geheim@h/?x=1",
    "postgresql://u@h/?password=geheim",
    "postgresql://u@h/?sslpassword=geheim",
    "postgresql://u@h/?options=-c%20app.password%3Dgeheim",
    "postgresql://u@h/?options=-c%2520app.secret%253Dgeheim",
    "postgresql://u@h/d?row_factory=1&password=geheim",
    "postgresql://u:geheim@h:99x/d",
    "postgresql://u:geh@eim@h/d",
    "geheim",
    "mysql://u:geheim@h/d",
]


@pytest.mark.parametrize("url", URLS)
def test_no_error_and_no_repr_has_it(url: str) -> None:
    try:
        journal = dj.connect(url)
    except dj.JournalError as error:
        told = f"{error} {error!r}"
    else:
        told = repr(journal)
        journal.close()
    assert "geheim" not in told
    assert "eim@" not in told


def test_what_is_no_secret_is_shown() -> None:
    url = "postgresql+psycopg://u:geheim@h:5432/d?sslmode=require&application_name=x"
    assert shown(sa.make_url(url)) == "postgresql+psycopg://u:***@h:5432/d?application_name=x&sslmode=require"


@pytest.mark.parametrize(
    "url", ["x", "postgresql://u:geheim@h:99x/d", "postgresql://u:geheim@[::1/d", "mssql+pyodbc:///?odbc_connect=PWD%3Dgeheim"]
)
@pytest.mark.parametrize("option", ["--url", "--admin-url"])
def test_serve_ends_with_a_line_for_a_url_that_makes_no_sense(url: str, option: str) -> None:
    given = ["--url", "postgresql://h/d", "--admin-url", url] if option == "--admin-url" else ["--url", url]
    done = CliRunner().invoke(cli.app, ["serve", "--port", "0", *given])
    assert done.exit_code == 1
    assert len(done.stderr.splitlines()) == 1
    assert "geheim" not in done.stderr
    assert "Traceback" not in done.stderr


def test_logs_strike_out_every_secret_of_a_url() -> None:
    url = checked_url("postgresql://u:erstes@h/d?sslpassword=zweites&options=-c%20a.password%3Ddrittes")
    record = logging.LogRecord("x", logging.ERROR, "x", 1, "erstes zweites -c a.password=drittes", None, None)
    line = JsonLines(secrets_of(url)).format(record)
    assert not any(secret in line for secret in ("erstes", "zweites", "drittes"))
