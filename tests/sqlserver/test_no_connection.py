"""Connections that cannot be had: one line that says what to do, exit code 1, and no password in it."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import sqlalchemy as sa

import dmsjournal as dj
from tests.sqlserver.drivers import needs_libltdl, needs_unixodbc

ROOT = Path(__file__).parents[2]
NOWHERE = "mssql+pyodbc://reader:secret-word@127.0.0.1:1/nothing"
COMMANDS = [("versions",), ("upgrade",), ("current",), ("changes", "Student")]
EACH = [  # the driver tries for ten seconds: the others are tried in the long runs
    pytest.param(command, id=command[0], marks=pytest.mark.long if place else ()) for place, command in enumerate(COMMANDS)
]


def run(url: str, *arguments: str, absent: str | None = None) -> str:
    """What a command prints that must fail, where a module may be absent: one line on stderr, nothing on stdout."""
    hide = f"import sys; sys.modules[{absent!r}] = None; " if absent else ""
    done = subprocess.run(
        [sys.executable, "-c", f"{hide}from dmsjournal.cli import app; app()", *arguments, "--url", url],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode in (1, 5, 75), done  # by its kind
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1, done.stderr
    assert "secret-word" not in done.stderr
    return done.stderr


@needs_unixodbc
@needs_libltdl
@pytest.mark.parametrize("command", EACH)
def test_a_closed_port(command: tuple[str, ...]) -> None:
    """With both drivers at once: each tries for ten seconds."""
    urls = [NOWHERE.replace("pyodbc", driver) for driver in ("pyodbc", "mssqlpython")]
    with ThreadPoolExecutor(len(urls)) as threads:
        for said in threads.map(lambda url: run(url, *command), urls):
            assert "check the host and the port in the URL" in said


@needs_unixodbc
def test_an_odbc_driver_that_is_not_installed() -> None:
    assert "name an ODBC driver that is installed" in run(f"{NOWHERE}?driver=No+Such+Driver", "versions")


def test_pyodbc_is_absent() -> None:
    assert "pip install 'dmsjournal[sqlserver]'" in run(NOWHERE, "versions", absent="pyodbc")


def test_mssql_python_is_absent() -> None:
    assert "pip install mssql-python" in run(NOWHERE.replace("pyodbc", "mssqlpython"), "versions", absent="mssql_python")


def test_a_password_that_is_wrong(url: str) -> None:
    wrong = sa.make_url(url).set(password="secret-word").render_as_string(hide_password=False)
    for command in COMMANDS:
        assert "check the user, the password and the database in the URL" in run(wrong, *command)


def test_a_database_that_is_not_there(url: str) -> None:
    absent = sa.make_url(url).set(database="no_such_database").render_as_string(hide_password=False)
    assert "the database in the URL" in run(absent, "versions")


def test_a_certificate_that_is_not_trusted(url: str) -> None:
    """A container's is its own; where the server's is trusted, or it has none, there is nothing to refuse."""
    strict = sa.make_url(url).difference_update_query(["TrustServerCertificate", "Encrypt"]).update_query_dict({"Encrypt": "yes"})
    assert "certificate" in run(strict.render_as_string(hide_password=False), "versions")


def test_the_other_driver(url: str, journal: dj.Journal) -> None:
    """mssql+mssqlpython:// reads what mssql+pyodbc:// does."""
    other = sa.make_url(url).set(drivername="mssql+mssqlpython").difference_update_query(["driver"])
    with dj.connect(other) as through:
        assert through.versions() == journal.versions()
