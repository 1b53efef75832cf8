"""Every way to write a row in T-SQL (acceptance 15b, 19, 20, 21, 33): the same events, whatever the session's settings."""

import pytest
import sqlalchemy as sa

import dmsjournal as dj
from tests.helpers import (
    PLAN,
    SCHOOL,
    STUDENT,
    change_content,
    commit,
    document,
    document_events,
    drawn,
    expected_changes,
    identity_events,
    newest,
    stamps,
    unjournaled,
    write,
)


@pytest.fixture
def writer(journal: dj.Journal, connections) -> sa.Connection:
    """A connection to a database that has three students, stamped 1 to 3."""
    write(journal, *(document(STUDENT, number) for number in range(3)))
    connection: sa.Connection = connections[0]
    return connection


def assert_as_defined(journal: dj.Journal, connection: sa.Connection) -> None:
    assert list(journal.changes(STUDENT)) == expected_changes(connection, journal.resources()[STUDENT])
    assert unjournaled(connection) == []
    assert newest(journal) == drawn(connection)


@pytest.mark.acceptance("19")
def test_merge_journals_each_of_its_actions(journal: dj.Journal, writer: sa.Connection) -> None:
    commit(
        writer,
        """MERGE dms.Document AS d
           USING (VALUES (1, 'content'), (2, 'identity'), (3, 'delete'), (0, 'new'), (-1, 'new')) AS w (id, what)
           ON d.DocumentId = w.id
           WHEN MATCHED AND w.what = 'delete' THEN DELETE
           WHEN MATCHED THEN UPDATE SET
               ContentVersion = CASE w.what WHEN 'content' THEN -1 ELSE d.ContentVersion END,
               KeyValues = CASE w.what WHEN 'identity' THEN N'{"studentId":22}' ELSE d.KeyValues END
           WHEN NOT MATCHED THEN INSERT (ResourceKeyId) VALUES (1);""",
    )
    assert [document_events(writer, i)[1:] for i in (1, 3)] == [[(stamps(writer, 1)[0], "update")], []]
    assert identity_events(writer, 2) == [stamps(writer, 2)[1]]
    assert [tombstone.document_id for tombstone in journal.deletes(STUDENT)] == [3]
    assert [(change.document_id, change.new_key_values) for change in journal.key_changes(STUDENT)] == [(2, {"studentId": 22})]
    assert commit(writer, "SELECT COUNT(*) FROM dms.Document") == [(4,)]
    assert_as_defined(journal, writer)


@pytest.mark.acceptance("19")
def test_a_select_of_many_rows_journals_each(journal: dj.Journal, writer: sa.Connection) -> None:
    numbers = "SELECT a.DocumentId FROM dms.Document AS a CROSS JOIN dms.Document AS b CROSS JOIN dms.Document AS c"
    commit(writer, f"INSERT INTO dms.Document (ResourceKeyId) SELECT 1 FROM ({numbers}) AS n")
    assert commit(writer, "SELECT COUNT(*), COUNT(DISTINCT ContentVersion) FROM dms.Document") == [(30, 30)]
    assert_as_defined(journal, writer)


@pytest.mark.acceptance("19")
@pytest.mark.parametrize("fast", [False, True])
def test_executemany_journals_every_row(journal: dj.Journal, writer: sa.Connection, fast: bool) -> None:
    with writer.begin():
        cursor = writer.connection.cursor()
        if hasattr(cursor, "fast_executemany"):
            cursor.fast_executemany = fast
        cursor.executemany("INSERT INTO dms.Document (ResourceKeyId) VALUES (?)", [(1,)] * 20)
        cursor.executemany("UPDATE dms.Document SET ContentVersion = -1 WHERE DocumentId = ?", [(n,) for n in range(1, 11)])
        edge = "INSERT INTO dms.ReferenceEdge (ParentDocumentId, ChildDocumentId) VALUES (?, 1)"
        cursor.executemany(edge, [(n,) for n in range(2, 8)])
        cursor.executemany("DELETE FROM dms.Document WHERE DocumentId = ?", [(n,) for n in range(15, 21)])
        cursor.close()
    assert len(list(journal.deletes(STUDENT))) == 6
    assert drawn(writer) == 3 + 20 + 10 + 6  # the parents of the edges have been stamped by this transaction
    assert_as_defined(journal, writer)


@pytest.mark.acceptance("19", "20")
def test_output_into_gives_what_the_statement_wrote(journal: dj.Journal, writer: sa.Connection) -> None:
    found = commit(
        writer,
        """SET NOCOUNT ON;
           DECLARE @written TABLE (DocumentId bigint NOT NULL);
           INSERT INTO dms.Document (ResourceKeyId) OUTPUT inserted.DocumentId INTO @written (DocumentId) VALUES (1), (1);
           DELETE FROM dms.Document OUTPUT deleted.DocumentId INTO @written (DocumentId) WHERE DocumentId = 2;
           SELECT DocumentId FROM @written ORDER BY DocumentId;
           SET NOCOUNT OFF;""",
    )
    assert [row[0] for row in found] == [2, 4, 5]
    assert_as_defined(journal, writer)


@pytest.mark.acceptance("20")
def test_output_without_into_is_refused_by_the_server(writer: sa.Connection) -> None:
    with pytest.raises(sa.exc.DBAPIError, match="cannot have any enabled triggers"):
        commit(writer, "UPDATE dms.Document SET ContentVersion = -1 OUTPUT inserted.DocumentId WHERE DocumentId = 1")


@pytest.mark.acceptance("20")
def test_identities_are_the_callers_own(writer: sa.Connection) -> None:
    insert = "SET NOCOUNT ON; INSERT INTO dms.Document (ResourceKeyId) VALUES (1)"
    assert commit(writer, f"{insert}; SELECT SCOPE_IDENTITY(), @@IDENTITY; SET NOCOUNT OFF") == [(4, 4)]


@pytest.mark.acceptance("20")
def test_the_last_identity_is_the_callers_own_after_other_statements(writer: sa.Connection) -> None:
    commit(writer, "INSERT INTO dms.Document (ResourceKeyId) VALUES (1)")
    commit(writer, "UPDATE dms.Document SET IdentityVersion = -1 WHERE DocumentId = 1")
    commit(writer, "INSERT INTO dms.ReferenceEdge (ParentDocumentId, ChildDocumentId) VALUES (2, 1)")
    assert commit(writer, "SELECT @@IDENTITY") == [(4,)]


@pytest.mark.acceptance("21")
def test_recursive_triggers_make_no_difference(journal: dj.Journal, writer: sa.Connection) -> None:
    [(database,)] = commit(writer, "SELECT DB_NAME()")
    _in_autocommit(writer, f"ALTER DATABASE {database} SET RECURSIVE_TRIGGERS ON")
    try:
        change_content(writer, 1, 2)
        commit(writer, "INSERT INTO dms.Document (ResourceKeyId) VALUES (1)")
        commit(writer, "INSERT INTO dms.ReferenceEdge (ParentDocumentId, ChildDocumentId) VALUES (3, 1), (4, 1)")
        commit(writer, "UPDATE dms.Document SET IdentityVersion = -1 WHERE DocumentId = 1")
        before = drawn(writer)
        commit(writer, "UPDATE dms.Document SET ContentVersion = -1 WHERE DocumentId < 0")
        assert drawn(writer) == before == 3 + 2 + 1 + 2 + 1
        assert_as_defined(journal, writer)
    finally:
        _in_autocommit(writer, f"ALTER DATABASE {database} SET RECURSIVE_TRIGGERS OFF")


def _in_autocommit(connection: sa.Connection, statement: str) -> None:
    with connection.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as conn:
        conn.exec_driver_sql(statement)


@pytest.mark.acceptance("19")
def test_a_session_with_old_settings_writes_as_any_other(journal: dj.Journal, writer: sa.Connection) -> None:
    """sqlcmd has QUOTED_IDENTIFIER off; an index on a computed column would refuse it."""
    with writer.begin():
        writer.exec_driver_sql("SET QUOTED_IDENTIFIER OFF")
        writer.exec_driver_sql("INSERT INTO dms.Document (ResourceKeyId, KeyValues) VALUES (1, N'{}')")
        writer.exec_driver_sql("UPDATE dms.Document SET KeyValues = N'{\"studentId\":9}' WHERE DocumentId = 1")
        writer.exec_driver_sql("DELETE FROM dms.Document WHERE DocumentId = 2")
        writer.exec_driver_sql("SET QUOTED_IDENTIFIER ON")
    assert_as_defined(journal, writer)


@pytest.mark.acceptance("33")
def test_another_application_s_lock_does_not_hold_newest(journal: dj.Journal, connections, writer: sa.Connection) -> None:
    other = connections[1]
    for name in ("dmsjournal", "dmsjournal:", "dmsjournal:x", "another", "dmsjournal:0", "dmsjournal:1:", "dmsjournal:3:0"):
        other.exec_driver_sql(f"EXEC sp_getapplock @Resource = N'{name}', @LockMode = 'Shared', @LockOwner = 'Transaction'")
    change_content(writer, 1)
    assert newest(journal) == drawn(writer) == 4
    other.rollback()


@pytest.mark.parametrize("remembered", ["0", "9", "0:0", "nonsense", "1:999999", ""])
def test_a_session_context_that_is_written_by_hand_misleads_nobody(
    journal: dj.Journal, writer: sa.Connection, remembered: str
) -> None:
    """What it holds is of another transaction, or of none: the writer enters anew."""
    with writer.begin():
        writer.exec_driver_sql(f"EXEC sp_set_session_context N'dms.entered_at', N'{remembered}'")
        writer.exec_driver_sql("UPDATE dms.Document SET ContentVersion = -1 WHERE DocumentId = 1")
        assert newest(journal) == 3
    assert newest(journal) == 4
    assert_as_defined(journal, writer)


def test_a_floor_that_nobody_can_have_entered_at_is_refused(journal: dj.Journal, writer: sa.Connection) -> None:
    writer.exec_driver_sql(
        """DECLARE @id bigint, @remembered nvarchar(64);
           EXEC dms.this_transaction @id OUTPUT;
           SET @remembered = CAST(@id AS nvarchar(20)) + N':99999';
           EXEC sp_set_session_context N'dms.entered_at', @remembered;"""
    )
    with pytest.raises(sa.exc.DBAPIError, match="holds a floor that no transaction can have entered at"):
        writer.exec_driver_sql("UPDATE dms.Document SET ContentVersion = -1 WHERE DocumentId = 1")
    writer.rollback()
    assert [version for version, _ in document_events(writer, 1)] == [1]
    assert newest(journal) == drawn(writer)


@pytest.mark.acceptance("108")
@pytest.mark.parametrize("lock", ["none", "dmsjournal:0", "dmsjournal:0:0"])
@pytest.mark.parametrize("first", ["", "UPDATE dms.Document SET ContentVersion = -1 WHERE DocumentId = 3"])
def test_a_floor_that_the_session_made_up_hides_no_edge(
    journal: dj.Journal, connections, writer: sa.Connection, first: str, lock: str
) -> None:
    """Transaction ids come again when the server restarts: the parent's last event has the id of this transaction."""
    before = newest(journal)
    with writer.begin():
        rows = writer.exec_driver_sql("SET NOCOUNT ON; DECLARE @id bigint; EXEC dms.this_transaction @id OUTPUT; SELECT @id")
        own = rows.scalar_one()
        commit(connections[1], f"UPDATE dms.DocumentChangeEvent SET TransactionId = {own} WHERE DocumentId = 2")
        if first:
            writer.exec_driver_sql(first)
        if lock != "none":
            writer.exec_driver_sql(f"EXEC sp_getapplock @Resource = N'{lock}', @LockMode = 'Shared', @LockOwner = 'Transaction'")
        writer.exec_driver_sql(f"EXEC sp_set_session_context N'dms.entered_at', N'{own}:0'")
        writer.exec_driver_sql("DELETE FROM dms.ReferenceEdge WHERE ParentDocumentId = 2")
        writer.exec_driver_sql("INSERT INTO dms.ReferenceEdge (ParentDocumentId, ChildDocumentId) VALUES (2, 1)")
    assert before < max(stamps(writer, 2))
    assert_as_defined(journal, writer)


def test_a_cascade_leaves_one_tombstone_and_no_parent_behind(journal: dj.Journal, writer: sa.Connection) -> None:
    school = document(SCHOOL, 1)
    _, plan, *_ = write(journal, school, document(PLAN, 1, school), document(PLAN, 2, school))
    commit(writer, f"DELETE FROM dms.Document WHERE DocumentId >= {plan}")
    assert len(list(journal.deletes(PLAN))) == 2
    assert commit(writer, "SELECT COUNT(*) FROM dms.ReferenceEdge") == [(0,)]
    assert unjournaled(writer) == []


@pytest.mark.acceptance("17")
@pytest.mark.parametrize("column", ["ContentVersion", "IdentityVersion"])
def test_a_signal_that_is_stored_does_not_hide_the_next_one(journal: dj.Journal, writer: sa.Connection, column: str) -> None:
    """-1 stays in the row where it is written while the trigger is switched off."""
    commit(writer, "DISABLE TRIGGER TR_Document_Stamp ON dms.Document")
    try:
        commit(writer, f"UPDATE dms.Document SET {column} = -1 WHERE DocumentId = 1")
    finally:
        commit(writer, "ENABLE TRIGGER TR_Document_Stamp ON dms.Document")
    commit(writer, f"UPDATE dms.Document SET {column} = -1 WHERE DocumentId = 1")
    assert max(stamps(writer, 1)) == newest(journal) == 4
    assert_as_defined(journal, writer)


def test_the_hash_of_a_key_is_the_trigger_s(journal: dj.Journal, writer: sa.Connection) -> None:
    for written in ("NULL", "0x00", "KeyValuesHash"):
        commit(writer, f"UPDATE dms.Document SET KeyValuesHash = {written}")
        commit(writer, f"UPDATE dms.Document SET KeyValuesHash = {written}, ContentVersion = -1 WHERE DocumentId = 2")
        assert commit(writer, "SELECT COUNT(*) FROM dms.Document WHERE KeyValuesHash = HASHBYTES('SHA2_256', KeyValues)") == [(3,)]
    with journal.write() as tx:
        assert isinstance(tx.upsert(document(STUDENT, 1)), dj.Unchanged)
    assert newest(journal) == 6


def test_a_session_that_counts_rows_writes_as_any_other(journal: dj.Journal, writer: sa.Connection) -> None:
    """SET ROWCOUNT forbids NEXT VALUE FOR, and would cut what a trigger journals."""
    with writer.begin():
        writer.exec_driver_sql("SET ROWCOUNT 2")
        writer.exec_driver_sql("UPDATE dms.Document SET ContentVersion = -1")
        writer.exec_driver_sql("DELETE FROM dms.Document")
        writer.exec_driver_sql("SET ROWCOUNT 0")
    assert commit(writer, "SELECT COUNT(*) FROM dms.Document") == [(1,)]
    assert len(list(journal.deletes(STUDENT))) == 2
    assert_as_defined(journal, writer)


def test_times_are_the_database_s_inside_another_trigger(journal: dj.Journal, writer: sa.Connection) -> None:
    commit(writer, "CREATE TABLE mine (n integer)")
    commit(
        writer,
        """CREATE TRIGGER backdate ON mine AFTER INSERT AS
           UPDATE dms.Document
           SET CreatedAt = '1999-01-01', ContentLastModifiedAt = '2099-01-01', IdentityLastModifiedAt = '2099-01-01'""",
    )
    try:
        commit(writer, "INSERT INTO mine VALUES (1)")
        wrong = "CreatedAt < '2000-01-01' OR ContentLastModifiedAt > '2098-01-01' OR IdentityLastModifiedAt > '2098-01-01'"
        assert commit(writer, f"SELECT COUNT(*) FROM dms.Document WHERE {wrong}") == [(0,)]
    finally:
        commit(writer, "DROP TABLE mine")
    assert newest(journal) == 3


MANY = "SELECT TOP ({0}) 1 FROM sys.all_columns AS a CROSS JOIN sys.all_columns AS b"
READS = "SELECT logical_reads FROM sys.dm_exec_sessions WHERE session_id = @@SPID"


@pytest.mark.acceptance("15b")
@pytest.mark.parametrize(
    "statement",
    [
        f"INSERT INTO dms.Document (ResourceKeyId) {MANY}",
        "UPDATE dms.Document SET ContentVersion = -1 WHERE DocumentId BETWEEN {1} AND {1} + {0} - 1",
        "UPDATE dms.Document SET IdentityVersion = -1 WHERE DocumentId BETWEEN {1} AND {1} + {0} - 1",
    ],
)
def test_a_session_of_one_row_and_many_costs_what_fresh_sessions_cost(url: str, writer: sa.Connection, statement: str) -> None:
    """Pages are counted, not seconds: a plan that was kept from a statement of another size would read the whole table."""
    size = 20_000
    assert commit(writer, READS) != [(None,)]
    commit(writer, f"INSERT INTO dms.Document (ResourceKeyId) {MANY.format(3 * size)}")
    engine = sa.create_engine(url, poolclass=sa.NullPool)

    def reads(session: sa.Connection, rows: int) -> int:
        [(before,)] = commit(session, READS)
        commit(session, statement.format(rows, 100))
        [(after,)] = commit(session, READS)
        return int(after - before)

    with engine.connect() as one_first, engine.connect() as many_first:
        single, many, late = reads(one_first, 1), reads(one_first, size), reads(one_first, 1)
        bulk, after = reads(many_first, size), reads(many_first, 1)
    assert max(late, after) <= 3 * single + 50
    assert many <= 2 * bulk
