"""Fingerprints: a checkpoint that is kept outside of the database knows its history again (invariant 9)."""

import msgspec
import pytest

import dmsjournal as dj
from tests.consumer import SET_BACK
from tests.helpers import STUDENT, change_content, commit, document, newest, write


@pytest.fixture
def written(journal: dj.Journal) -> dj.Journal:
    """Versions 1 to 5, of which 4 is a tombstone."""
    write(journal, *(document(STUDENT, n) for n in range(3)))
    with journal.write() as tx:
        tx.delete(STUDENT, {"studentId": 1})
    write(journal, document(STUDENT, 4))
    return journal


def test_it_is_the_last_event_at_or_below_a_version(written: dj.Journal, connections) -> None:
    taken = [written.fingerprint(version) for version in range(6)]
    assert [each.event_version for each in taken] == [None, 1, 2, 3, 4, 5]
    assert [each.document_id for each in taken] == [None, 1, 2, 3, 2, 4]
    change_content(connections[0], 1, 3)
    for fingerprint in taken:  # what comes later is not looked at
        written.check_history(msgspec.json.decode(msgspec.json.encode(fingerprint), type=dj.Fingerprint))
    assert written.fingerprint(newest(written)) != taken[5]


def test_another_history_is_told(written: dj.Journal, connections) -> None:
    taken = [written.fingerprint(version) for version in range(6)]
    commit(connections[0], "DELETE FROM dms.DocumentChangeEvent WHERE ChangeVersion = 3")
    written.check_history(taken[5])  # as a restored one, which was written to, may look
    with pytest.raises(dj.HistoryDiverged):
        written.check_history(taken[3])
    commit(connections[0], "UPDATE dms.DocumentDeleteEvent SET DocumentId = 99 WHERE ChangeVersion = 4")
    with pytest.raises(dj.HistoryDiverged):
        written.check_history(taken[4])
    commit(connections[0], SET_BACK[connections[0].dialect.name].format(4))
    with pytest.raises(dj.HistoryDiverged) as diverged:
        written.check_history(taken[5])
    assert diverged.value.checkpoint == 5


def test_what_is_pruned_is_expired_and_not_diverged(written: dj.Journal) -> None:
    taken = [written.fingerprint(version) for version in range(6)]
    written.prune(4)
    for fingerprint in taken[:4]:
        with pytest.raises(dj.CheckpointExpired) as expired:
            written.check_history(fingerprint)
        assert expired.value.oldest == 5
    written.check_history(taken[4])
    written.check_history(taken[5])


@pytest.mark.parametrize("version", [-1, True, "5", 2**63, 6])
def test_a_version_that_nobody_can_have_read_is_refused(written: dj.Journal, version) -> None:
    with pytest.raises(dj.InvalidRequest, match="version"):
        written.fingerprint(version)
