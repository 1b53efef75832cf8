"""Databases that hold no journal of this program's, and URLs that hold secrets."""

import socket

import pytest
import sqlalchemy as sa

import dmsjournal as dj
from dmsjournal.events.arrow.reader import read_journal
from dmsjournal.schema import migrate
from tests.helpers import PLAN, STUDENT, document, write

SECRETS = ["postgresql+psycopg://u:S3CRET@h/x", "postgresql+psycopg://u@h/x?password=S3CRET", "postgresql://h/x?sslpassword=S3CRET"]


@pytest.mark.parametrize("url", SECRETS)
def test_no_secret_of_a_url_is_shown(url: str) -> None:
    assert "S3CRET" not in repr(dj.connect(url))
    for wrong in (url.replace("/x", "/"), url.replace("postgresql", "mysql").replace("+psycopg", "")):
        with pytest.raises(dj.InvalidRequest) as refused:
            dj.connect(wrong)
        assert "S3CRET" not in str(refused.value)


def test_a_password_that_is_not_encoded_is_not_shown_as_a_host() -> None:
    with pytest.raises(dj.InvalidRequest, match="%40") as refused:
        dj.connect("postgresql+psycopg://u:my@S3CRET@127.0.0.1/x")
    assert "S3CRET" not in str(refused.value)


@pytest.mark.parametrize(("revision", "found"), [("base", None), ("0003", "0003")])
def test_documents_without_their_journal_are_left_alone(journal: dj.Journal, url: str, revision: str, found: str) -> None:
    write(journal, document(STUDENT, "1"))
    migrate.downgrade(url, revision)
    with dj.connect(url) as db:
        for call in (db.versions, lambda: db.derive([1]), lambda: write(db, document(STUDENT, "2")), lambda: db.documents([1])):
            with pytest.raises(dj.NotInstalled) as missing:
                call()
            assert (missing.value.found, missing.value.needed) == (found, "0007")


@pytest.mark.acceptance("57")
@pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII"])
def test_a_database_in_another_encoding_is_refused(postgres_server, encoding: str) -> None:
    with postgres_server.fresh_database() as fresh:
        server, name = sa.make_url(fresh), f"in_{encoding.lower()}"
        engine = sa.create_engine(server, isolation_level="AUTOCOMMIT")
        with engine.connect() as conn:
            conn.exec_driver_sql(f"CREATE DATABASE {name} ENCODING '{encoding}' TEMPLATE template0 LOCALE 'C'")
            try:
                with pytest.raises(dj.MigrationRefused, match=f"needs a database in UTF8, this one is in {encoding}"):
                    migrate.upgrade(server.set(database=name))
            finally:
                conn.exec_driver_sql(f"DROP DATABASE {name} WITH (FORCE)")
        engine.dispose()


def test_documents_are_read_as_they_are_now(journal: dj.Journal) -> None:
    student = document(STUDENT, "1")
    write(journal, student, document(PLAN, 1, student))
    ids = [change.document_id for resource in (STUDENT, PLAN) for change in journal.changes(resource)]
    found = journal.documents([*ids, 10**9])
    assert [(found[i].resource, found[i].key_values) for i in ids] == [
        (STUDENT, student.key_values),
        (PLAN, document(PLAN, 1).key_values),
    ]
    assert found.keys() == set(ids)
    with pytest.raises(dj.InvalidRequest):
        journal.documents(["1"])  # type: ignore[list-item]


@pytest.mark.acceptance("83")
@pytest.mark.parametrize("form", ["SQLAlchemy", "libpq"])
def test_a_server_that_is_not_there_is_passed_by(journal: dj.Journal, url: str, form: str) -> None:
    """Of several hosts the first that answers; and target_session_attrs is the driver's to heed."""
    write(journal, document(STUDENT, "1"))
    server = sa.make_url(url)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and nobody listens there
        hosts = [f"127.0.0.1:{taken.getsockname()[1]}", f"127.0.0.1:{server.port}"]
        user = f"postgresql+psycopg://{server.username}:{server.password}@"
        several = (
            f"{user}/{server.database}?host={hosts[0]}&host={hosts[1]}&"
            if form == "SQLAlchemy"
            else f"{user}{','.join(hosts)}/{server.database}?"
        )
        primary = f"{several}target_session_attrs=primary&sslmode=require&sslmode=disable"
        with dj.connect(primary) as db:
            assert db.versions().newest == 1
        assert sum(batch.num_rows for batch in read_journal(primary)) == 1
        with dj.connect(f"{several}target_session_attrs=standby") as db, pytest.raises(dj.Unavailable, match="standby"):
            db.versions()
