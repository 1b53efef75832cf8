"""Times that no program can hold: commands go on, and verify names them (acceptance 106)."""

from datetime import UTC, datetime, timedelta

import pytest

import dmsjournal as dj
from tests.helpers import STUDENT, commit, document, newest, write

pytestmark = pytest.mark.acceptance("106")

TIMES = {
    "infinity": datetime.max,
    "-infinity": datetime.min,
    "12026-01-01 00:00:00+00": datetime.max,
    "0044-03-15 12:00:00+00 BC": datetime.min,
}


@pytest.mark.parametrize("time", TIMES)
def test_a_time_that_python_does_not_have_stops_nobody(journal: dj.Journal, connections, time: str) -> None:
    write(journal, *(document(STUDENT, n) for n in range(1, 6)))
    with journal.write() as tx:
        tx.rekey(STUDENT, {"studentId": 4}, {"studentId": 40})
        tx.delete(STUDENT, {"studentId": 5})
    journal.consumers.register("warehouse", at=3)
    with connections[0].begin():
        connections[0].exec_driver_sql("SET LOCAL session_replication_role = replica")
        for statement in (
            f"UPDATE dms.DocumentChangeEvent SET CreatedAt = '{time}' WHERE ChangeVersion IN (3, 5)",
            f"UPDATE dms.KeyChangeEvent SET CreatedAt = '{time}'",
            f"UPDATE dms.DocumentDeleteEvent SET CreatedAt = '{time}'",
            f"UPDATE dms.Document SET IdentityLastModifiedAt = '{time}' WHERE DocumentId = 2",
        ):
            connections[0].exec_driver_sql(statement)
    events = journal.read_changes(dj.FeedRequest()).events
    assert [event.timestamp for event in events if event.change_version in (3, 5)] == [TIMES[time].replace(tzinfo=UTC)] * 2
    assert [delete.deleted_at for delete in journal.deletes(STUDENT)] == [TIMES[time].replace(tzinfo=UTC)]
    assert len(list(journal.key_changes(STUDENT))) == 1
    assert journal.derive([1, 2]).keys() == {1, 2}
    journal.status()
    found = {finding.code: set(finding.objects) for finding in journal.verify().findings}
    assert found == {"time-unreadable": {2, "event 3", "event 5", "key change 6", "tombstone 7"}}
    if time != "12026-01-01 00:00:00+00":  # a time to come is young
        older = "SET CreatedAt = CreatedAt - interval '1 day'"
        commit(connections[0], f"UPDATE dms.DocumentChangeEvent {older} WHERE ChangeVersion IN (1, 2, 4, 6)")
        commit(connections[0], f"UPDATE dms.IdentityChangeEvent {older}")
        pruned = journal.prune(older_than=timedelta(hours=1), force=True, dry_run=True)
        assert pruned.through == newest(journal)
