"""What a writer can use up for others (docs/dba/costs.md): ids of resources, entries of the lock table, a reader's stack."""

import re

import pytest
import sqlalchemy as sa

import dmsjournal as dj
from tests.helpers import PLAN, STUDENT, commit, document, newest, write

BURN = """DO $$ BEGIN FOR n IN 1..32767 LOOP
    INSERT INTO dms.ResourceKey (ProjectName, ResourceName, ResourceVersion) VALUES ('Ed-Fi', 'Student', '5.2.0')
    ON CONFLICT DO NOTHING;
END LOOP; END $$"""
LOCKS = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()"


def remedy() -> str:
    """The statement of docs/dba/costs.md that frees ids which no resource has."""
    from tests.unit.test_docs import ROOT

    [found] = re.findall(r"```sql\nSET [^\n]*\n(SELECT setval[^`]*?)```", (ROOT / "docs" / "dba" / "costs.md").read_text())
    return str(found)


def test_resource_ids_that_were_used_up_are_named_and_freed(journal: dj.Journal, connections: list[sa.Connection]) -> None:
    """A conflict takes an id, too: no row is there to show where they went."""
    write(journal, document(STUDENT, 1))
    with pytest.raises(sa.exc.DataError, match="reached maximum value"), connections[0].begin():
        connections[0].exec_driver_sql(BURN)
    write(journal, document(STUDENT, 2))  # known resources go on
    with pytest.raises(dj.DatabaseRefused, match=r"(?s)resourcekey_resourcekeyid_seq.*docs/dba/costs.md") as refused:
        write(journal, document(PLAN, 1))
    assert refused.value.sqlstate == "2200H"
    commit(connections[0], remedy())
    write(journal, document(PLAN, 1))
    assert len(list(journal.changes(PLAN))) == 1


def test_a_transaction_has_one_lock_however_many_savepoints_it_makes(connections: list[sa.Connection], journal: dj.Journal) -> None:
    [student] = write(journal, document(STUDENT, 1))
    connection = connections[0]
    with connection.begin():
        connection.exec_driver_sql(
            f"""DO $$ BEGIN FOR n IN 1..300 LOOP
                BEGIN
                    UPDATE dms.Document SET ContentVersion = 0 WHERE DocumentId = {student};
                    IF n % 3 = 0 THEN RAISE 'undone'; END IF;
                EXCEPTION WHEN raise_exception THEN NULL; END;
            END LOOP; END $$""".replace("%", "%%")
        )
        assert connection.exec_driver_sql(LOCKS).scalar_one() == 1
    assert newest(journal) > 0


@pytest.mark.parametrize("depth", [900, 4_000])
def test_a_body_that_is_nested_deeply_stops_no_reader(journal: dj.Journal, connections: list[sa.Connection], depth: int) -> None:
    ids = write(journal, document(STUDENT, 1), document(STUDENT, 2))
    nested = f'{{"a": {"[" * depth}{"]" * depth}}}'
    commit(connections[0], f"UPDATE dms.Document SET KeyValues = '{nested}' WHERE DocumentId = {ids[0]}")
    assert {change.document_id for change in journal.changes(STUDENT)} == set(ids)
    commit(connections[0], "DELETE FROM dms.Document")
    assert {delete.document_id for delete in journal.deletes(STUDENT)} == set(ids)
