"""Status on PostgreSQL: prepared transactions, what a role may not see, which triggers are needed, and what it reads."""

import json
import re
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa
from psycopg import sql

import dmsjournal as dj
from dmsjournal.database import sql as statements
from dmsjournal.operate.alerts import Limits
from dmsjournal.schema.migrate import upgrade
from tests.helpers import STUDENT, commit, document, in_psycopg, write


@pytest.fixture
def reader(url: str) -> Iterator[dj.Journal]:
    """The journal as a role sees it that may read the tables, and nothing else."""
    with psycopg.connect(in_psycopg(url), autocommit=True) as admin:
        name = f"reader_{admin.info.dbname}"
        role = sql.Identifier(name)
        admin.execute(sql.SQL("CREATE ROLE {} LOGIN PASSWORD 'secret'").format(role))
        admin.execute(sql.SQL("GRANT USAGE ON SCHEMA dms TO {}").format(role))
        admin.execute(sql.SQL("GRANT SELECT ON ALL TABLES IN SCHEMA dms TO {}").format(role))
        with dj.connect(sa.make_url(url).set(username=name, password="secret")) as journal:
            yield journal
        admin.execute(sql.SQL("DROP OWNED BY {}").format(role))
        admin.execute(sql.SQL("DROP ROLE {}").format(role))


@pytest.mark.acceptance("34")
def test_a_prepared_transaction_is_named(url: str, journal: dj.Journal) -> None:
    write(journal, document(STUDENT, 1), document(STUDENT, 2))
    with psycopg.connect(in_psycopg(url), autocommit=True) as session:
        for document_id in (1, 2):  # two, so that each has to find its own
            session.execute("BEGIN")
            session.execute("SAVEPOINT inner_one")  # what it writes has a transaction id of its own
            session.execute(f"UPDATE dms.Document SET ContentVersion = 0 WHERE DocumentId = {document_id}")
            session.execute(f"PREPARE TRANSACTION 'import-{document_id}'")
        try:
            held = journal.status().holders
        finally:
            for document_id in (1, 2):
                session.execute(f"ROLLBACK PREPARED 'import-{document_id}'")
    assert [(of.floor, of.pid, of.prepared) for of in held] == [(2, None, "import-1"), (3, None, "import-2")]
    assert all(of.user == "postgres" and of.transaction_seconds >= 0 for of in held)
    assert journal.status().holders == ()


def test_what_a_reader_may_not_see_is_said(journal: dj.Journal, reader: dj.Journal, connections) -> None:
    write(journal, document(STUDENT, 1))
    connections[0].exec_driver_sql("SELECT set_config('application_name', 'nightly-import', false)")
    connections[0].exec_driver_sql("UPDATE dms.Document SET ContentVersion = 0")
    status = reader.status()
    assert [missing.part for missing in status.hidden] == ["last_stamp", "sessions"]
    assert all(missing.remedy.startswith("GRANT ") for missing in status.hidden)
    assert (status.newest, status.last_stamp, status.lag_versions) == (1, None, None)
    (holder,) = status.holders
    assert (holder.floor, holder.application, holder.user) == (1, "nightly-import", "postgres")
    assert (holder.client, holder.state, holder.transaction_seconds) == (None, None, None)
    said = Limits(lag_versions=5, hold_seconds=60).exceeded(status)  # what cannot be seen is not taken for well
    assert len(said) == 2
    assert all("cannot be seen" in sentence and "GRANT" in sentence for sentence in said)
    connections[0].rollback()


def test_the_shipped_grants_show_a_reader_the_last_stamp(journal: dj.Journal, reader: dj.Journal, connections) -> None:
    write(journal, document(STUDENT, 1))
    grants = statements.text_of("postgres", "roles/grants").replace("\\set ON_ERROR_STOP on\n", "")
    name = f"reader_{sa.make_url(connections[0].engine.url).database}"
    with connections[0].connection.driver_connection.cursor() as cursor:
        cursor.execute(re.sub(r':"(writer|reader|pruner)"', name, grants))
    assert reader.status().last_stamp == 1
    with pytest.raises(sa.exc.ProgrammingError, match="permission denied"), reader.database.pool.begin() as conn:
        conn.exec_driver_sql("SELECT nextval('dms.ChangeVersionSequence')")


def test_without_a_journal_it_says_what_to_run(postgres_server) -> None:
    with postgres_server.fresh_database() as url, dj.connect(url) as db, pytest.raises(dj.NotInstalled, match="dmsjournal upgrade"):
        db.status()


@pytest.mark.parametrize("options", [[], ["max_dep_identity_version", "images", "context"]])
def test_the_triggers_that_are_needed_are_those_that_are_installed(
    url: str, journal: dj.Journal, connections, options: list[str]
) -> None:
    upgrade(url, options=options)
    installed = commit(
        connections[0],
        """SELECT relname, tgname FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid
           WHERE relnamespace = 'dms'::regnamespace AND NOT tgisinternal""",
    )
    assert {(of.table.lower(), of.name.lower()) for of in journal.status().triggers} == {tuple(row) for row in installed}
    commit(connections[0], "DROP TRIGGER TR_ReferenceEdge_Update ON dms.ReferenceEdge")
    commit(connections[0], "ALTER TABLE dms.Document ENABLE REPLICA TRIGGER TR_Document_Insert")
    commit(connections[0], "ALTER TABLE dms.Document ENABLE ALWAYS TRIGGER TR_Document_Update")
    told = {of.name: of.state for of in journal.status().triggers if of.state != "enabled"}
    assert told == {"TR_ReferenceEdge_Update": "missing", "TR_Document_Insert": "disabled"}


EVENTS = 200_000


@pytest.fixture
def grown(url: str, connections) -> str:
    """A journal that grew slowly for 20 days and fast in the last hours, with gaps; every seventh event is of an identity."""
    commit(connections[0], f"SELECT setval('dms.ChangeVersionSequence', {2 * EVENTS})")
    commit(
        connections[0],
        f"""INSERT INTO dms.DocumentChangeEvent (ChangeVersion, DocumentId, TransactionId, CreatedAt, ResourceKeyId, Operation)
            SELECT n * 2, n, 1, clock_timestamp() - interval '20 days' * (1 - n / {EVENTS}.0) ^ 3, 1, 'update'
            FROM generate_series(1, {EVENTS}) AS n WHERE mod(n, 5) > 0""",
    )
    commit(
        connections[0],
        """INSERT INTO dms.IdentityChangeEvent (ChangeVersion, DocumentId, CreatedAt, ResourceKeyId)
           SELECT ChangeVersion, DocumentId, CreatedAt, 1 FROM dms.DocumentChangeEvent WHERE mod(DocumentId, 7) = 0""",
    )
    return url


def test_growth_is_estimated_well(grown: str, journal: dj.Journal, connections) -> None:
    status = journal.status()
    for of in status.journals:
        for hours, estimated in ((1, of.rows_last_hour), (24, of.rows_last_day)):
            [(counted,)] = commit(
                connections[0],
                f"SELECT count(*) FROM dms.{of.name} WHERE CreatedAt >= clock_timestamp() - interval '{hours} hours'",
            )
            assert estimated == pytest.approx(counted, rel=0.05), (of.name, hours)
    assert len(status.history) in (47, 48)  # above the last event there is a gap


def test_no_statement_reads_a_journal(grown: str, journal: dj.Journal) -> None:
    """Whatever it asks of a big table is an index scan that gives no more rows than were asked for."""
    executed: list[tuple[str, Any]] = []
    sa.event.listen(
        journal.database.pool, "before_cursor_execute", lambda c, cursor, text, values, x, many: executed.append((text, values))
    )
    journal.status()
    scans = []
    with psycopg.connect(in_psycopg(grown)) as session:  # one transaction: begin_page is among them
        for text, values in executed:
            if text.startswith("SET LOCAL") or "\nDO $$" in text:  # each transaction's search_path, the look at alembic_version
                session.execute(text)
                continue
            (plan,) = session.execute("EXPLAIN (ANALYZE, FORMAT JSON) " + text, values or None).fetchone()
            scans += [node for node in nodes(plan[0]["Plan"]) if node.get("Relation Name", "").endswith("changeevent")]
    assert scans
    shown = json.dumps(scans)
    assert {node["Node Type"] for node in scans} <= {"Index Scan", "Index Only Scan"}, shown
    assert all(node.get("Rows Removed by Filter", 0) == 0 for node in scans), shown
    assert sum(node["Actual Rows"] * node["Actual Loops"] for node in scans) < 8_000, shown  # of 190,000
    assert len(executed) < 30


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("Plans", []):
        yield from nodes(child)
