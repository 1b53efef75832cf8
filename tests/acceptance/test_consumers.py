"""Registered consumers: how far each has read, and a database whose history no longer leads there (invariant 9)."""

import json

import pytest
import sqlalchemy as sa
from typer.testing import CliRunner

import dmsjournal as dj
from dmsjournal import cli
from tests.helpers import SCHOOL, STUDENT, change_content, commit, document, newest, write


@pytest.fixture
def written(journal: dj.Journal) -> dj.Journal:
    """Versions 1 to 5, of which 4 is a tombstone."""
    write(journal, *(document(STUDENT, n) for n in range(3)))
    with journal.write() as tx:
        tx.delete(STUDENT, {"studentId": 1})
    write(journal, document(SCHOOL, 1))
    return journal


def test_a_consumer_goes_from_register_to_drop(written: dj.Journal, connections) -> None:
    consumers = written.consumers
    assert list(consumers.list()) == []
    first = consumers.register("search index")  # at newest
    assert (first.name, first.change_version, first.document_id, first.lag, first.state) == ("search index", 5, None, 0, "current")
    assert consumers.register("Wärehouse/2", 0).lag == 5
    change_content(connections[0], 1)
    moved = consumers.advance("Wärehouse/2", 3)
    assert (moved.through, moved.lag) == (3, 3)
    assert moved.updated_at > first.updated_at
    assert consumers.get("Wärehouse/2") == moved
    assert [(c.name, c.lag) for c in consumers.list()] == [("Wärehouse/2", 3), ("search index", 1)]
    consumers.drop("search index")
    assert [c.name for c in consumers.list()] == ["Wärehouse/2"]
    for gone in (consumers.get, consumers.drop, lambda name: consumers.advance(name, 5)):
        with pytest.raises(dj.InvalidRequest, match="no consumer is registered under it"):
            gone("search index")


def test_a_name_is_taken_once(written: dj.Journal) -> None:
    written.consumers.register("etl", 3)
    with pytest.raises(dj.InvalidRequest, match="registered already"):
        written.consumers.register("etl", 2)
    assert written.consumers.get("etl").through == 3
    written.consumers.register("ETL", 2)  # another one


@pytest.mark.parametrize("name", ["", " etl", "etl ", "e\ntl", "e\0tl", "x" * 257, None, 5, "\ud800"])
def test_a_name_that_is_none_is_refused(journal: dj.Journal, name) -> None:
    for call in (journal.consumers.register, journal.consumers.get, journal.consumers.drop):
        with pytest.raises(dj.InvalidRequest, match="name"):
            call(name)


@pytest.mark.parametrize("place", [-1, True, "5", 2**63, 6, dj.Cursor(6, 1)])
def test_a_place_that_nobody_can_have_read_is_refused(written: dj.Journal, place) -> None:
    with pytest.raises(dj.InvalidRequest, match="at"):
        written.consumers.register("etl", place)
    written.consumers.register("etl", 0)
    with pytest.raises(dj.InvalidRequest, match="to"):
        written.consumers.advance("etl", place)
    assert written.consumers.get("etl").through == 0


def test_a_place_above_an_open_writer_is_refused(written: dj.Journal, connections) -> None:
    with connections[0].begin():
        connections[0].exec_driver_sql("UPDATE dms.Document SET ContentVersion = ContentVersion + 1 WHERE DocumentId = 1")
        with pytest.raises(dj.InvalidRequest, match=r"above the newest readable version \(5\)"):
            written.consumers.register("etl", 6)
    assert written.consumers.register("etl", 6).lag == 0


def test_a_consumer_goes_back_only_where_told(written: dj.Journal) -> None:
    written.consumers.register("etl", dj.Cursor(4, 7))
    for back in (3, dj.Cursor(4, 6), dj.Cursor(3, 100)):
        with pytest.raises(dj.InvalidRequest, match="backwards"):
            written.consumers.advance("etl", back)
    assert written.consumers.advance("etl", dj.Cursor(4, 7)).cursor == dj.Cursor(4, 7)
    assert written.consumers.advance("etl", 2, backwards=True).through == 2


def test_a_place_that_is_pruned_is_expired(written: dj.Journal) -> None:
    written.prune(3)
    for place in (2, dj.Cursor(3, 100), 0):
        with pytest.raises(dj.CheckpointExpired) as expired:
            written.consumers.register("etl", place)
        assert expired.value.oldest == 4
    written.consumers.register("etl", 3)
    with pytest.raises(dj.CheckpointExpired) as expired:
        written.consumers.advance("etl", 2, backwards=True)
    assert expired.value.__notes__ == ["a consumer at 2 would get this error at its next read, so none is put below 3"]
    written.prune(4, force=True)
    assert written.consumers.get("etl").state == "expired"
    assert written.consumers.advance("etl", 4).state == "current"


# History that is another one: the rows are what a restore to an earlier state leaves, followed by other writes.

RESTORED = {
    "the last event is gone": "DELETE FROM dms.{} WHERE ChangeVersion = {}",
    "another transaction's": "UPDATE dms.{} SET TransactionId = TransactionId + 1 WHERE ChangeVersion = {}",
    "another document's": "UPDATE dms.{} SET DocumentId = DocumentId + 1 WHERE ChangeVersion = {}",
    "another time's": "UPDATE dms.{} SET CreatedAt = '2020-01-01' WHERE ChangeVersion = {}",
}


@pytest.mark.parametrize("what", RESTORED)
@pytest.mark.parametrize(("journal_name", "version"), [("DocumentChangeEvent", 5), ("DocumentDeleteEvent", 4)])
def test_a_last_event_that_is_another_one_is_told(
    written: dj.Journal, connections, what: str, journal_name: str, version: int
) -> None:
    written.consumers.register("etl", version)
    assert written.consumers.get("etl").state == "current"
    commit(connections[0], RESTORED[what].format(journal_name, version))
    assert [c.state for c in written.consumers.list()] == ["diverged"]
    for call in (lambda: written.consumers.get("etl"), lambda: written.consumers.advance("etl", 5)):
        with pytest.raises(dj.HistoryDiverged) as diverged:
            call()
        assert (diverged.value.checkpoint, diverged.value.newest) == (version, 5)
    assert written.consumers.advance("etl", newest(written), backwards=True).state == "current"  # after it has read in full


def test_a_gap_that_was_filled_since_is_told(written: dj.Journal, connections) -> None:
    """The version that was read last had no event. A restored database gave it to a change."""
    commit(connections[0], "DELETE FROM dms.DocumentChangeEvent WHERE ChangeVersion = 5")
    written.consumers.register("etl", 5)
    columns = "ChangeVersion, DocumentId, TransactionId, CreatedAt, ResourceKeyId, Operation"
    commit(connections[0], f"INSERT INTO dms.DocumentChangeEvent ({columns}) VALUES (5, 4, 1, '2020-01-01', 1, 'insert')")
    with pytest.raises(dj.HistoryDiverged):
        written.consumers.get("etl")


def test_a_version_that_the_sequence_has_not_given_is_told(written: dj.Journal, connections) -> None:
    written.consumers.register("etl", 5)
    commit(connections[0], "UPDATE dms.ChangeConsumer SET ChangeVersion = 6")
    with pytest.raises(dj.HistoryDiverged) as diverged:
        written.consumers.get("etl")
    assert (diverged.value.checkpoint, diverged.value.newest) == (6, 5)


@pytest.mark.parametrize("through", [1, 3, 4, 5])
def test_what_is_pruned_diverges_from_nothing(written: dj.Journal, connections, through: int) -> None:
    for version in range(6):
        written.consumers.register(f"at {version}", version)
    for journals in (["DocumentDeleteEvent"], ["DocumentChangeEvent"], None):
        written.prune(through, journals=journals, force=True)
        assert {c.name for c in written.consumers.list() if c.state == "diverged"} == set()
    states = {c.through: c.state for c in written.consumers.list()}
    assert states == {v: "current" if v >= through else "expired" for v in range(6)}


def test_who_has_read_nothing_of_an_empty_journal_diverges_from_nothing(journal: dj.Journal) -> None:
    assert journal.consumers.register("etl").through == 0
    write(journal, document(STUDENT, 1))
    assert journal.consumers.get("etl").lag == 1


def test_the_commands(written: dj.Journal, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DMSJOURNAL_URL", url)

    def invoke(*arguments: str) -> tuple[int, str]:
        result = CliRunner().invoke(cli.app, ["consumers", *arguments])
        return result.exit_code, result.output

    code, out = invoke("register", "etl", "--at", "3")
    assert (code, out.split("\t")[:5]) == (0, ["etl", "3", "null", "2", "current"])
    assert invoke("advance", "etl", "4", "--document-id", "9")[1].startswith("etl\t4\t9\t2\tcurrent\t")
    assert json.loads(invoke("list", "--json")[1])["change_version"] == 4
    assert invoke("advance", "etl", "2")[0] == 1
    assert invoke("advance", "etl", "2", "--backwards")[0] == 0
    assert invoke("drop", "etl") == (0, "dropped=etl\n")
    assert invoke("list") == (0, "")
    code, out = invoke("drop", "etl")
    assert (code, len(out.splitlines())) == (1, 1)
    assert invoke("register", "etl", "--document-id", "1")[0] == 2


def test_consumers_of_other_connections_are_seen(written: dj.Journal, url: str | sa.URL) -> None:
    with dj.connect(url) as other:
        other.consumers.register("etl", 3)
    assert written.consumers.get("etl").through == 3


def test_a_name_is_held_by_one_program_at_a_time(journal: dj.Journal, url: str | sa.URL) -> None:
    """Registered or not; by its session, and other names are free."""
    consumers = journal.consumers
    with dj.connect(url) as other:
        with consumers.hold("Wärehouse/2") as hold:
            assert hold.is_held()
            with pytest.raises(dj.Unavailable, match="another program reads as consumer Wärehouse/2"):
                other.consumers.hold("Wärehouse/2").__enter__()
            with other.consumers.hold("wärehouse/2"), other.consumers.hold("x" * 256), consumers.hold("etl"):
                assert hold.is_held()
        with other.consumers.hold("Wärehouse/2"):
            pass
    with pytest.raises(dj.InvalidRequest):
        consumers.hold("")


def test_a_consumer_begins_before_its_first_event(written: dj.Journal) -> None:
    """It is registered where its request starts, so no prune is faster; it goes on from its token."""
    checkpoint = dj.DatabaseCheckpoint(written, "etl")
    for start, through, left in [(dj.Beginning(), 0, 5), (dj.Now(), 5, 0)]:
        token = checkpoint.begin(dj.FeedRequest(start=start))
        assert written.consumers.get("etl").through == through
        assert checkpoint.begin(dj.FeedRequest()) == token
        page = written.read_changes(dj.FeedRequest(start=dj.FromToken(token)))
        assert len(page.events) == left
        checkpoint.save(page.token)
        written.consumers.drop("etl")
    written.prune(through=2)
    token = checkpoint.begin(dj.FeedRequest())
    assert written.consumers.get("etl").through == 2
    assert written.prune(through=newest(written)).through == 2
    assert [event.change_version for event in written.read_changes(dj.FeedRequest(start=dj.FromToken(token))).events] == [3, 4, 5]
