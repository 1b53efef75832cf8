"""Journal.write() by several sessions at once: what comes out is what one after the other would have given."""

import logging
import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

import dmsjournal as dj

from .races import CHILD, PARENT, Race


def document(key: object, body: object = 0, *children: object, own: bool = False) -> dj.Document:
    references = [dj.Reference(CHILD, {"key": child}, identity_component=own) for child in children]
    return dj.Document(PARENT, {"key": key}, {"body": body}, references)


def child(key: object, body: object = 0) -> dj.Document:
    return dj.Document(CHILD, {"key": key}, {"body": body})


def state(race: Race) -> dict[str, tuple[object, list[str]]]:
    """Body and references of each parent, by its key; each key once."""
    rows = race.look(
        "SELECT d.KeyValues ->> 'key' AS key, b.DocumentJson -> 'body' AS body, "
        "ARRAY(SELECT c.KeyValues ->> 'key' FROM dms.ReferenceEdge AS e JOIN dms.Document AS c ON c.DocumentId = e.ChildDocumentId "
        "WHERE e.ParentDocumentId = d.DocumentId ORDER BY 1) AS children "
        "FROM dms.Document AS d LEFT JOIN dms.DocumentCache AS b ON b.DocumentId = d.DocumentId WHERE d.ResourceKeyId = :resource",
        resource=race.ids[PARENT],
    ).all()
    assert len({row.key for row in rows}) == len(rows), "two documents have one key"
    return {row.key: (row.body, row.children) for row in rows}


class Meeting:
    """Two writers: the second one begins while the first one is open, and the first one ends once the second one waits."""

    def __init__(self, race: Race) -> None:
        self.race = race

    def run(self, first: Callable[[dj.WriteTransaction], object], second: Callable[[dj.WriteTransaction], object]) -> list[object]:
        """What each returned, or the JournalError that it raised."""

        def write(call: Callable[[dj.WriteTransaction], object]) -> object:
            try:
                with self.race.journal.write() as tx:
                    return call(tx)
            except dj.JournalError as error:
                return error

        try:
            with self.race.journal.write() as tx:
                result = first(tx)
                waiting = self.race.blocked(lambda: write(second))
        except dj.JournalError as error:
            result = error
        return [result, waiting.result()]


@pytest.fixture
def meet(race: Race) -> Meeting:
    with race.journal.write() as tx:
        tx.upsert_many([child("c"), child("d"), document("known", 0)])
    return Meeting(race)


def serial(race: Race, meet: Meeting, *calls: Callable[[dj.WriteTransaction], object]) -> None:
    """The calls, each in a transaction of its own, as one after the other."""
    for call in calls:
        with race.journal.write() as tx:
            call(tx)


@pytest.mark.parametrize("same", [True, False])
def test_two_sessions_create_one_document(race: Race, meet: Meeting, same: bool) -> None:
    results = meet.run(lambda tx: tx.upsert(document("new", 1)), lambda tx: tx.upsert(document("new", 1 if same else 2)))
    assert [type(result) for result in results] == [dj.Created, dj.Unchanged if same else dj.Updated]
    assert state(race)["new"] == (1 if same else 2, [])
    assert len({result.document_id for result in results}) == 1  # type: ignore[attr-defined]


def test_the_second_session_creates_it_if_the_first_one_gives_up(race: Race, meet: Meeting) -> None:
    class GiveUp(Exception):
        pass

    with pytest.raises(GiveUp), race.journal.write() as tx:  # noqa: PT012
        tx.upsert(document("new", 1))

        def write() -> dj.Upserted:
            with race.journal.write() as other:
                return other.upsert(document("new", 2))

        waiting = race.blocked(write)
        raise GiveUp
    assert isinstance(waiting.result(), dj.Created)
    assert state(race)["new"] == (2, [])


def test_two_sessions_write_one_document_and_the_later_one_stands(race: Race, meet: Meeting) -> None:
    results = meet.run(lambda tx: tx.upsert(document("known", 1, "c")), lambda tx: tx.upsert(document("known", 2, "d")))
    assert [type(result) for result in results] == [dj.Updated, dj.Updated]
    assert state(race)["known"] == (2, ["d"])


def test_an_upsert_that_changes_references_alone_still_writes_its_body(race: Race, meet: Meeting) -> None:
    """The body is what it was when the second session looked, and another one when it has the row lock."""
    results = meet.run(lambda tx: tx.upsert(document("known", 1)), lambda tx: tx.upsert(document("known", 0, "c")))
    assert [type(result) for result in results] == [dj.Updated, dj.Updated]
    assert state(race)["known"] == (0, ["c"])  # not the one's body with the other's references


def test_an_upsert_writes_the_document_that_has_the_key_when_it_writes(race: Race, meet: Meeting) -> None:
    """Another session gives the document a new key meanwhile: the old key is free, and the renamed document is not this one."""
    rekey, upsert = meet.run(
        lambda tx: tx.rekey(PARENT, {"key": "known"}, {"key": "renamed"}), lambda tx: tx.upsert(document("known", 5))
    )
    assert rekey == 1
    after = state(race)
    assert after["renamed"] == (0, [])
    if isinstance(upsert, dj.Unavailable):
        assert "known" not in after
    else:
        assert isinstance(upsert, dj.Created)
        assert after["known"] == (5, [])


def test_a_delete_takes_the_document_that_has_the_key_when_it_deletes(race: Race, meet: Meeting) -> None:
    rekey, deleted = meet.run(
        lambda tx: tx.rekey(PARENT, {"key": "known"}, {"key": "renamed"}), lambda tx: tx.delete(PARENT, {"key": "known"})
    )
    assert rekey == 1
    assert "renamed" in state(race)
    assert deleted is False or isinstance(deleted, dj.Unavailable)


def test_a_rekey_takes_the_document_that_has_the_key_when_it_writes(race: Race, meet: Meeting) -> None:
    first, second = meet.run(
        lambda tx: tx.rekey(PARENT, {"key": "known"}, {"key": "one"}), lambda tx: tx.rekey(PARENT, {"key": "known"}, {"key": "two"})
    )
    assert first == 1
    assert "one" in state(race)
    assert isinstance(second, dj.JournalError)  # no document has that key any more


def test_a_document_written_while_a_part_of_its_identity_is_renamed_follows(race: Race, meet: Meeting) -> None:
    """One after the other, it is renamed as well, or refused for a reference that is not there: it never keeps the old value."""
    with race.journal.write() as renaming:
        renaming.rekey(CHILD, {"key": "c"}, {"key": "renamed"})
        with ThreadPoolExecutor(1) as threads:

            def write() -> object:
                try:
                    with race.journal.write() as tx:
                        return tx.upsert(dj.Document(PARENT, {"key": "c"}, {}, [dj.Reference(CHILD, {"key": "c"}, True)]))
                except dj.JournalError as error:
                    return error

            other = threads.submit(write)
            ended = threading.Event()
            other.add_done_callback(lambda _: ended.set())
            while not ended.wait(0.01) and not race._waiting():
                pass
            renaming._session.conn.commit()
    if isinstance(other.result(), dj.Upserted):
        assert state(race).keys() == {"known", "renamed"}
    else:
        assert isinstance(other.result(), dj.UnknownReference | dj.Unavailable)


def test_a_delete_meets_an_upsert_of_a_referrer(race: Race, meet: Meeting) -> None:
    upserted, deleted = meet.run(lambda tx: tx.upsert(document("p", 1, "c")), lambda tx: tx.delete(CHILD, {"key": "c"}))
    assert isinstance(upserted, dj.Created)
    assert isinstance(deleted, dj.ReferencedDocument)
    assert state(race)["p"] == (1, ["c"])


def test_an_upsert_of_a_referrer_meets_a_delete(race: Race, meet: Meeting) -> None:
    deleted, upserted = meet.run(lambda tx: tx.delete(CHILD, {"key": "c"}), lambda tx: tx.upsert(document("p", 1, "c")))
    assert deleted is True
    assert isinstance(upserted, dj.Unavailable | dj.UnknownReference)
    assert "p" not in state(race)
    with pytest.raises(dj.UnknownReference), race.journal.write() as tx:
        tx.upsert(document("p", 1, "c"))


def test_two_sessions_delete_one_document(race: Race, meet: Meeting) -> None:
    assert meet.run(lambda tx: tx.delete(PARENT, {"key": "known"}), lambda tx: tx.delete(PARENT, {"key": "known"})) == [True, False]
    assert len(list(race.journal.deletes(PARENT))) == 1


def test_an_upsert_meets_a_delete_of_the_same_document(race: Race, meet: Meeting) -> None:
    deleted, upserted = meet.run(lambda tx: tx.delete(PARENT, {"key": "known"}), lambda tx: tx.upsert(document("known", 1)))
    assert deleted is True
    assert isinstance(upserted, dj.Unavailable | dj.Created)
    serial(race, meet, lambda tx: tx.upsert(document("known", 2)))
    assert state(race)["known"] == (2, [])


def retried(race: Race, call: Callable[[dj.WriteTransaction], object], tries: int = 20) -> int:
    """Until the call's transaction is not asked to try again; how many tries it took. Any other error leaves."""
    for attempt in range(1, tries + 1):
        try:
            with race.journal.write() as tx:
                call(tx)
            return attempt
        except dj.Unavailable:
            time.sleep(random.uniform(0, 0.1 * attempt))  # else two of them can meet in the same deadlock again and again
    raise AssertionError(f"{tries} tries were not enough")


@pytest.mark.acceptance("30")
def test_renames_of_overlapping_closures_meet(race: Race, caplog: pytest.LogCaptureFixture) -> None:
    """Each parent's identity holds two children; sessions rename the children at once, so that their closures overlap."""
    caplog.set_level(logging.INFO, logger="dmsjournal")
    children, rounds = 6, 6
    with race.journal.write() as tx:
        tx.upsert_many([dj.Document(CHILD, {"key": f"c{n}.0"}) for n in range(children)])
        tx.upsert_many(
            dj.Document(
                PARENT,
                {"left": f"c{n}.0", "right": f"c{(n + 1) % children}.0"},
                {},
                [dj.Reference(CHILD, {"key": f"c{m % children}.0"}, identity_component=True) for m in (n, n + 1)],
            )
            for n in range(children)
        )
    starting = threading.Barrier(children)

    def rename(n: int) -> int:
        tries = 0
        for number in range(rounds):
            starting.wait(60)

            def call(tx: dj.WriteTransaction, number: int = number) -> None:
                assert tx.rekey(CHILD, {"key": f"c{n}.{number}"}, {"key": f"c{n}.{number + 1}"}) == 3

            tries += retried(race, call)
        return tries

    with ThreadPoolExecutor(children) as threads:
        tries = list(threads.map(rename, range(children)))
    assert max(tries) <= 5 * rounds
    keys = race.look("SELECT KeyValues FROM dms.Document WHERE ResourceKeyId = :r", r=race.ids[PARENT]).scalars().all()
    wanted = [{"left": f"c{n}.{rounds}", "right": f"c{(n + 1) % children}.{rounds}"} for n in range(children)]
    assert sorted(keys, key=str) == sorted(wanted, key=str)
    assert race.missed() == {}


@pytest.mark.parametrize(("batch", "sessions"), [(1, 2), (12, 4)])
def test_overlapping_sets_in_different_orders(race: Race, batch: int, sessions: int) -> None:
    """New and known documents with references to each other's, in one batch each or one by one; deadlocks end as Unavailable."""
    with race.journal.write() as tx:
        tx.upsert_many([document("known"), *(child(n) for n in range(4)), *(document(n, "old") for n in range(6))])
    starting = threading.Barrier(sessions)

    def write(session: int) -> Counter[str]:
        order = [document(n, session, n % 4, (n + session) % 4) for n in range(12)]
        random.Random(session).shuffle(order)
        outcomes: Counter[str] = Counter()

        def call(tx: dj.WriteTransaction) -> None:
            outcomes.clear()
            for start in range(0, len(order), batch):
                outcomes.update(upserted.outcome for upserted in tx.upsert_many(order[start : start + batch]))

        starting.wait(60)
        if batch > 1:  # one batch locks in one order: nobody is asked to try again
            with race.journal.write() as tx:
                call(tx)
        else:
            retried(race, call)
        return outcomes

    with ThreadPoolExecutor(sessions) as threads:
        outcomes = sum(threads.map(write, range(sessions)), Counter[str]())
    assert outcomes["created"] == 6
    after = state(race)
    last = after["0"][0]  # one after the other: the last session's documents are all there
    assert isinstance(last, int)
    assert after == {str(n): (last, sorted({str(n % 4), str((n + last) % 4)})) for n in range(12)} | {"known": after["known"]}
    assert race.missed() == {}
