"""Attacks on tracking by settings of a session, a role or a database (acceptance 66, 71, 88)."""

from typing import Any

import psycopg
import pytest

import dmsjournal as dj
from dmsjournal.schema import migrate
from tests.helpers import in_psycopg

from .helpers import Sql, track
from .test_traps import clean


@pytest.mark.acceptance("88")
def test_a_session_that_reads_null_in_an_array_as_text_keeps_the_same_body(tracked: str, sql: Sql) -> None:
    sql("CREATE SCHEMA app; CREATE TABLE app.a (id int PRIMARY KEY, spans interval[])")
    track(sql, "a", bodies=True)
    sql("SET array_nulls = off")
    sql("INSERT INTO app.a VALUES (1, ARRAY[NULL, CAST('1 day' AS interval)])")
    assert sql("SELECT DocumentJson FROM dms.DocumentCache") == [({"id": 1, "spans": [None, "1 day"]},)]
    assert clean(tracked)


@pytest.mark.acceptance("66")
def test_a_database_that_refuses_what_plpgsql_can_warn_of(postgres_server: Any) -> None:
    """`plpgsql.extra_errors`: shadowed variables, queries that give several rows or too few columns."""
    with postgres_server.fresh_database() as url:
        with psycopg.connect(in_psycopg(url), autocommit=True) as conn:
            conn.execute(f"ALTER DATABASE \"{conn.info.dbname}\" SET plpgsql.extra_errors = 'all'")
        migrate.upgrade(url, options=["tracking", "partitions", "images", "context", "max_dep_identity_version"])
        with psycopg.connect(in_psycopg(url), autocommit=True) as conn, dj.connect(url) as journal:
            conn.execute("CREATE SCHEMA app; CREATE TABLE app.a (id int PRIMARY KEY DEFERRABLE, code int UNIQUE)")
            conn.execute("CREATE TABLE app.b (id int PRIMARY KEY, a int REFERENCES app.a (code) ON UPDATE CASCADE DEFERRABLE)")
            journal.track(dj.TrackedTable("app.a", bodies=True), dj.TrackedTable("app.b"))
            for statement in (
                "BEGIN; SET CONSTRAINTS ALL DEFERRED; INSERT INTO app.b VALUES (1, 1); INSERT INTO app.a VALUES (1, 1); COMMIT",
                "INSERT INTO app.a VALUES (2, 2)",
                "UPDATE app.a SET id = 3 - id, code = code + 10",
                "DELETE FROM app.b; TRUNCATE app.a, app.b",
            ):
                conn.execute(statement)
            journal.renew_tracking()
            assert journal.verify().is_clean
            journal.untrack("app.b")
