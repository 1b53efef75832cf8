"""Deliveries to a receiver: all of it, in order, at least once; what it will not take is kept; nobody else delivers meanwhile."""

import random
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

import dmsjournal as dj
from dmsjournal.deliver import receivers
from dmsjournal.deliver.dead_letters import DeadLetters
from dmsjournal.deliver.formats import format_of
from dmsjournal.deliver.retries import Retries
from dmsjournal.deliver.runner import Delivery, replay_dead_letters
from dmsjournal.deliver.signatures import Signer
from dmsjournal.deliver.webhooks import Webhook
from dmsjournal.feed.checkpoints import DatabaseCheckpoint
from dmsjournal.operate import lease
from tests.conftest import Connections
from tests.delivering.receiver import SECRET, Got, Receiver, receiving, refusing
from tests.feeds import told, walk
from tests.helpers import SCHOOL, STUDENT, change_content, commit, document, newest, write

QUICK = Retries(tries=2, shortest=0.001, longest=0.002, patience=0.0)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


class Sender:
    """Deliveries of one consumer to one receiver, one after the other."""

    def __init__(self, journal: dj.Journal, receiver: Receiver, letters: Path) -> None:
        self.journal, self.receiver, self.path = journal, receiver, letters
        self.retries, self.most = QUICK, 1_000
        self.page_size, self.save_every = 7, 0.0

    def target(self, as_arrays: bool = False) -> receivers.Receiver:
        webhook = Webhook(self.receiver.url, Signer([SECRET]), timeout=5)
        letters = DeadLetters(self.path, "crm", self.most)
        return receivers.Receiver(webhook, letters, format_of("jsonl"), self.retries, as_arrays=as_arrays)

    def delivery(self, size: int | None = None, *, follow: bool = False) -> Delivery:
        request = dj.FeedRequest(max_page_size=self.page_size)
        target = self.target(size is not None)
        return Delivery(self.journal, "crm", target, request, follow=follow, at_once=size or 1, save_every=self.save_every)

    def run(self, size: int | None = None) -> None:
        self.delivery(size).run()

    def replay(self) -> None:
        replay_dead_letters(self.journal, "crm", self.target())

    def letters(self) -> list[tuple[int, int]]:
        """The version and the document of each dead letter."""
        with DeadLetters(self.path, "crm") as letters:
            return [(each.event.change_version, each.event.key.document_id or 0) for each in letters.read()]

    def place(self) -> int:
        """The version that is delivered in full, by the consumer."""
        return self.journal.consumers.get("crm").through


@pytest.fixture
def sender(journal: dj.Journal, receiver: Receiver, tmp_path: Path) -> Sender:
    return Sender(journal, receiver, tmp_path / "dead.jsonl")


@pytest.fixture
def events(journal: dj.Journal, connections: Connections) -> list[dj.FeedEvent]:
    """Twelve events of four documents; one is deleted."""
    write(journal, *(document(STUDENT, n) for n in range(1, 5)))
    for documents in ([1, 2], [2, 3, 4], [1, 2]):
        change_content(connections[0], *documents)
    with journal.write() as tx:
        tx.delete(STUDENT, {"studentId": 4})
    return walk(journal, dj.FeedRequest())[0]


def of_document(sequence: list[tuple[int, int]], document_id: int) -> list[int]:
    return [version for version, of in sequence if of == document_id]


@pytest.mark.parametrize("size", [None, 5, 500])
def test_everything_comes_once_in_order(sender: Sender, events: list[dj.FeedEvent], size: int | None) -> None:
    sender.run(size)
    assert sender.receiver.ids() == [str(event.event_id) for event in events]
    assert sender.place() == newest(sender.journal)
    assert sender.letters() == []
    if size is None:
        assert [got.id for got in sender.receiver.got] == sender.receiver.ids()
    count = len(sender.receiver.got)
    sender.run(size)
    assert len(sender.receiver.got) == count


def test_the_place_moves_after_the_answer(sender: Sender, events: list[dj.FeedEvent]) -> None:
    """While a request is answered, the consumer stands before its first event and behind the one before."""
    places: list[tuple[int, int]] = []

    def answer(got: Got) -> int:
        places.append((sender.place(), got.events[0]["change_version"]))
        return 204

    sender.receiver.answer = answer
    sender.run()
    versions = [event.change_version for event in events]
    assert [version for _, version in places] == versions
    assert all(before <= place < version for before, (place, version) in zip([0, *versions], places, strict=False))


def test_a_consumer_is_registered_before_anything_is_sent(sender: Sender, events: list[dj.FeedEvent]) -> None:
    """A receiver that has never taken anything yet: no prune takes away what it has not had."""
    sender.receiver.answer = lambda got: 503
    with pytest.raises(dj.ReceiverFailed):
        sender.run()
    assert sender.place() == 0
    pruned = sender.journal.prune(through=newest(sender.journal))
    assert pruned.held_by is not None
    assert pruned.held_by.name == "crm"
    assert pruned.deleted == 0
    sender.receiver.answer = lambda got: 204
    sender.run()
    assert sender.receiver.ids() == [str(event.event_id) for event in events]


def test_a_new_consumer_begins_above_the_floor(sender: Sender, events: list[dj.FeedEvent]) -> None:
    sender.journal.prune(through=events[4].change_version)
    sender.run()
    assert sender.receiver.ids() == [str(event.event_id) for event in events[5:]]


def test_registering_goes_on_where_a_prune_was_faster(
    sender: Sender, events: list[dj.FeedEvent], monkeypatch: pytest.MonkeyPatch
) -> None:
    start, cut = dj.Journal.feed_start, [events[2].change_version, events[4].change_version]

    def pruned_meanwhile(journal: dj.Journal, request: dj.FeedRequest) -> str:
        token = start(journal, request)
        if cut:
            journal.prune(through=cut.pop(0))
        return token

    monkeypatch.setattr(dj.Journal, "feed_start", pruned_meanwhile)
    sender.run()
    assert sender.receiver.ids() == [str(event.event_id) for event in events[5:]]


def test_a_new_consumer_can_begin_now(sender: Sender, events: list[dj.FeedEvent], connections: Connections) -> None:
    def run() -> None:
        Delivery(sender.journal, "crm", sender.target(), dj.FeedRequest(start=dj.Now()), follow=False).run()

    run()
    assert sender.receiver.got == []
    change_content(connections[0], 1)
    run()
    assert sender.receiver.versions() == [newest(sender.journal)]


@pytest.mark.parametrize("size", [None, 5])
@pytest.mark.parametrize("status", [500, 422])
def test_what_follows_a_dead_letter_of_its_document_waits(
    sender: Sender, events: list[dj.FeedEvent], size: int | None, status: int
) -> None:
    """Others are delivered. When the receiver is mended, a replay sends the letters, and each document's events came in order."""
    sender.receiver.answer = refusing(2, status=status)
    sender.run(size)
    all_ = [(version, of) for version, of, _ in told(events)]
    assert sender.letters() == [pair for pair in all_ if pair[1] == 2]
    assert list(zip(sender.receiver.versions(), sender.receiver.documents(), strict=True)) == [p for p in all_ if p[1] != 2]
    assert sender.place() == newest(sender.journal)
    sent = [got for got in sender.receiver.got if got not in sender.receiver.taken]
    assert {event["change_version"] for got in sent for event in got.events if event["key"]["document_id"] == 2} <= {
        version for version in of_document(all_, 2)[: 1 if size is None else 12]
    }

    sender.receiver.answer = lambda got: 204
    sender.replay()
    assert sender.letters() == []
    came = list(zip(sender.receiver.versions(), sender.receiver.documents(), strict=True))
    assert sorted(came) == all_
    for id_ in range(1, 5):
        assert of_document(came, id_) == of_document(all_, id_)


def test_only_what_is_at_fault_in_an_array_becomes_a_dead_letter(sender: Sender, events: list[dj.FeedEvent]) -> None:
    """Halves are sent in order until the one that is refused is alone."""
    wrong = str(events[6].event_id)
    sender.receiver.answer = lambda got: 400 if wrong in [event["event_id"] for event in got.events] else 204
    sender.run(500)
    all_ = [(version, of) for version, of, _ in told(events)]
    following = [pair for pair in all_[7:] if pair[1] == all_[6][1]]
    assert sender.letters() == [all_[6], *following]
    came = list(zip(sender.receiver.versions(), sender.receiver.documents(), strict=True))
    assert came == [pair for pair in all_ if pair not in sender.letters()]


def test_a_replay_keeps_what_is_refused_again_and_what_waits_behind_it(sender: Sender, events: list[dj.FeedEvent]) -> None:
    sender.receiver.answer = refusing(1, 2)
    sender.run()
    both = sender.letters()
    sender.receiver.taken.clear()
    sender.receiver.answer = refusing(2)
    sender.replay()
    assert sender.letters() == [pair for pair in both if pair[1] == 2]
    assert sender.receiver.documents() == [1] * len([pair for pair in both if pair[1] == 1])
    with DeadLetters(sender.path, "crm") as letters:
        first, second, *_ = letters.read()
    assert (first.tries, first.reason) == (4, "answered 500")
    assert (second.tries, second.reason) == (0, f"waits for the dead letter {first.event_id} of its document")


def test_a_document_is_delivered_again_when_its_letters_are(
    sender: Sender, events: list[dj.FeedEvent], connections: Connections
) -> None:
    sender.receiver.answer = refusing(2)
    sender.run()
    sender.receiver.answer = lambda got: 204
    sender.replay()
    sender.receiver.taken.clear()
    change_content(connections[0], 2)
    sender.run()
    assert sender.receiver.documents() == [2]


def test_dead_letters_are_on_the_disk_before_the_place_moves(
    sender: Sender, events: list[dj.FeedEvent], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A crash between the two: the event comes again, and is one letter."""
    save, failed = dj.DatabaseCheckpoint.save, []

    def crash(checkpoint: dj.DatabaseCheckpoint, token: str) -> None:
        if sender.path.exists() and not failed:
            failed.append(sender.path.read_text())
            raise KeyError("a crash")
        save(checkpoint, token)

    monkeypatch.setattr(dj.DatabaseCheckpoint, "save", crash)
    sender.receiver.answer = refusing(2)
    with pytest.raises(KeyError):
        sender.run()
    first = next(event for event in events if event.key.document_id == 2)
    assert str(first.event_id) in failed[0]
    assert sender.place() < first.change_version
    sender.run()
    assert sender.letters() == [(version, of) for version, of, _ in told(events) if of == 2]


def test_it_ends_rather_than_keep_more_dead_letters(sender: Sender, events: list[dj.FeedEvent]) -> None:
    sender.most = 2
    sender.receiver.answer = lambda got: 400
    with pytest.raises(dj.DeadLettersFull):
        sender.run()
    assert sender.letters() == [pair[:2] for pair in told(events[:2])]
    assert sender.place() == events[1].change_version
    sender.most, sender.receiver.answer = 1_000, lambda got: 204
    sender.replay()
    sender.run()
    assert sender.receiver.ids() == [str(event.event_id) for event in events]


@pytest.mark.parametrize("status", [410, 308])
def test_a_receiver_that_has_gone_ends_it_at_once(sender: Sender, events: list[dj.FeedEvent], status: int) -> None:
    sender.save_every = 1_000.0  # what was delivered is saved, inside a page too
    sender.receiver.answer = lambda got: status if len(sender.receiver.got) > 3 else 204
    with pytest.raises(dj.ReceiverFailed, match=f"answered {status}") as raised:
        sender.run()
    assert raised.value.receiver == sender.receiver.url.removesuffix("/hook")
    assert len(sender.receiver.got) == 4
    assert sender.place() == events[2].change_version
    assert sender.letters() == []


class Waits(threading.Event):
    """Notes how long is waited, and does not wait."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds: list[float] = []

    def wait(self, timeout: float | None = None) -> bool:
        self.seconds.append(timeout or 0)
        return False


def waits_of(target: receivers.Receiver, journal: dj.Journal) -> list[float]:
    """How long it waits between its tries to deliver what there is."""
    target._stopped = waits = Waits()
    with target:
        target.take(walk(journal, dj.FeedRequest())[0])
    return waits.seconds


def test_waits_double_up_to_a_bound_and_differ(sender: Sender, journal: dj.Journal) -> None:
    write(journal, document(STUDENT, 1))
    sender.receiver.answer = lambda got: 500
    sender.retries = Retries(tries=8, shortest=1, longest=10)
    waits = waits_of(sender.target(), journal)
    assert len(sender.receiver.got) == 8
    for seconds, most in zip(waits, [1, 2, 4, 8, 10, 10, 10], strict=True):
        assert most / 2 <= seconds <= most
    assert len({seconds / most for seconds, most in zip(waits, [1, 2, 4, 8, 10, 10, 10], strict=True)}) > 1


def test_a_receiver_gets_the_time_that_it_asks_for(sender: Sender, journal: dj.Journal) -> None:
    write(journal, document(STUDENT, 1))
    answers = iter([(503, {"retry-after": "77"}), (429, {"retry-after": "0"}), (500, {"retry-after": "1000000"}), 200])
    sender.receiver.answer = lambda got: next(answers)
    sender.retries = Retries(tries=2, shortest=1, longest=10)
    target = sender.target()
    waits = waits_of(target, journal)
    assert waits[0] == 77
    assert 1 <= waits[1] <= 2
    assert 3599 < waits[2] <= 3600
    assert target.counts() == {"delivered": 1, "dead_letters": 0, "requests": 4}


def test_a_receiver_cannot_ask_for_more_time_than_the_patience(sender: Sender, journal: dj.Journal) -> None:
    write(journal, document(STUDENT, 1))
    answers = iter([(503, {"retry-after": "3600"}), 200])
    sender.receiver.answer = lambda got: next(answers)
    sender.retries = Retries(tries=2, shortest=1, longest=10, patience=60)
    [wait] = waits_of(sender.target(), journal)
    assert 59 < wait <= 60


def test_each_try_is_signed_anew_and_has_the_same_id(sender: Sender, journal: dj.Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a receiver that looks at the time would refuse all tries after some minutes."""
    write(journal, document(STUDENT, 1))
    at = iter([1_000_000, 2_000_000, 3_000_000])
    answers = iter([500, 500, 204])
    monkeypatch.setattr("dmsjournal.deliver.webhooks.time", SimpleNamespace(time=lambda: next(at)))
    monkeypatch.setattr("tests.delivering.receiver.is_genuine", lambda *request: True)
    sender.receiver.answer = lambda got: next(answers)
    sender.retries = replace(QUICK, tries=3)
    waits_of(sender.target(), journal)
    assert [got.headers["webhook-timestamp"] for got in sender.receiver.got] == ["1000000", "2000000", "3000000"]
    assert len({got.headers["webhook-signature"] for got in sender.receiver.got}) == 3
    assert len({got.id for got in sender.receiver.got}) == 1


def stopped_when(delivery: Delivery, is_time: Callable[[], bool]) -> threading.Thread:
    """Runs a delivery in a thread, and stops it at a time."""
    thread = threading.Thread(target=delivery.run)
    thread.start()
    waiting = threading.Event()
    while not is_time() and thread.is_alive():
        waiting.wait(0.005)
    delivery.stop()
    return thread


@pytest.mark.parametrize("page_size", [3, 7])
def test_a_stop_lets_the_request_that_is_on_its_way_end(sender: Sender, events: list[dj.FeedEvent], page_size: int) -> None:
    sender.page_size, sender.save_every = page_size, 1_000.0
    arrived, go_on = threading.Event(), threading.Event()

    def answer(got: Got) -> int:
        if len(sender.receiver.got) == 3:
            arrived.set()
            go_on.wait(10)
        return 204

    sender.receiver.answer = answer
    thread = stopped_when(sender.delivery(follow=True), arrived.is_set)
    go_on.set()
    thread.join(10)
    assert not thread.is_alive()
    assert sender.receiver.versions() == [event.change_version for event in events[:3]]
    assert sender.place() == events[2].change_version


def test_a_stop_ends_a_wait(sender: Sender, events: list[dj.FeedEvent]) -> None:
    sender.receiver.answer = lambda got: (503, {"retry-after": "60"})
    sender.retries = Retries()
    thread = stopped_when(sender.delivery(follow=True), lambda: bool(sender.receiver.got))
    thread.join(10)
    assert not thread.is_alive()
    assert sender.place() == 0


def test_a_stop_ends_the_wait_for_more(sender: Sender, events: list[dj.FeedEvent]) -> None:
    thread = stopped_when(sender.delivery(follow=True), lambda: len(sender.receiver.taken) == len(events))
    thread.join(10)
    assert not thread.is_alive()
    assert sender.place() == newest(sender.journal)


def test_a_stop_before_the_beginning(sender: Sender, events: list[dj.FeedEvent]) -> None:
    delivery = sender.delivery(follow=True)
    delivery.stop()
    delivery.run()
    assert sender.receiver.got == []


@pytest.mark.parametrize("other", ["delivery", "replay"])
def test_a_second_delivery_of_a_consumer_is_refused(
    sender: Sender, events: list[dj.FeedEvent], url: str, other: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lease, "RENEWED_EVERY", 0.05)  # so long the second one looks whether the first one is alive
    refused: list[str] = []

    def answer(got: Got) -> int:
        with dj.connect(url) as journal:
            second = Sender(journal, sender.receiver, sender.path.with_name("other.jsonl"))
            with pytest.raises(dj.Unavailable) as raised:
                second.run() if other == "delivery" else second.replay()
        refused.append(str(raised.value))
        return 204

    sender.receiver.answer = answer
    sender.run()
    assert len(refused) == len(events)
    assert refused[0].startswith("another program reads as consumer crm: role postgres, process ")
    assert sender.receiver.ids() == [str(event.event_id) for event in events]


def ended_sessions(connections: Connections) -> None:
    """Ends all other sessions of the database."""
    others = "datname = current_database() AND pid <> pg_backend_pid()"
    commit(connections[1], f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {others}")


def lost_leases(connections: Connections) -> None:
    """As if this program had stood still for 30 seconds, another one had taken its leases meanwhile, and ended."""
    commit(connections[1], "UPDATE dms.Lease SET Token = gen_random_uuid(), ExpiresAt = clock_timestamp()")


def test_ended_sessions_are_replaced(sender: Sender, events: list[dj.FeedEvent], connections: Connections) -> None:
    connections[0].close()

    def answer(got: Got) -> int:
        if len(sender.receiver.got) in (2, 5):
            ended_sessions(connections)
        return 204

    sender.receiver.answer = answer
    sender.run()
    assert sender.receiver.ids() == [str(event.event_id) for event in events]


def test_who_has_lost_its_hold_goes_on_only_where_nobody_has_moved_the_consumer(
    sender: Sender, events: list[dj.FeedEvent], connections: Connections, url: str
) -> None:
    connections[0].close()

    def answer(got: Got) -> int:
        if len(sender.receiver.got) == 2:
            ended_sessions(connections)
            lost_leases(connections)
            with dj.connect(url) as journal, receiving() as elsewhere:
                Sender(journal, elsewhere, sender.path.with_name("other.jsonl")).run()
        return 204

    sender.receiver.answer = answer
    with pytest.raises(dj.InvalidRequest, match="another program has moved it"):
        sender.run()
    assert len(sender.receiver.taken) <= 3
    assert sender.place() == newest(sender.journal)


@pytest.mark.parametrize("end", ["next", "stop", "refused"])
def test_who_has_lost_its_hold_to_another_leaves_the_place_alone(
    sender: Sender, events: list[dj.FeedEvent], connections: Connections, url: str, end: str
) -> None:
    """The other one may deliver to elsewhere: what it has not delivered yet must not be passed."""
    connections[0].close()
    sender.save_every = 0.0 if end == "next" else 3600.0
    delivery = sender.delivery()
    other = ExitStack()

    def answer(got: Got) -> int:
        if len(sender.receiver.got) == 3:
            ended_sessions(connections)
            lost_leases(connections)
            journal = other.enter_context(dj.connect(url))
            other.enter_context(journal.consumers.hold("crm"))
            places.append(journal.consumers.get("crm").through)
            if end == "stop":
                delivery.stop()
            return 410 if end == "refused" else 204
        return 204

    places: list[int] = []
    sender.receiver.answer = answer
    with other, pytest.raises(dj.ReceiverFailed if end == "refused" else dj.Unavailable):
        delivery.run()
    assert [sender.place()] == places


def test_a_place_that_was_saved_unheard_is_its_own(
    sender: Sender, events: list[dj.FeedEvent], connections: Connections, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The database was lost between the commit and its answer."""
    connections[0].close()
    real, saved = DatabaseCheckpoint.save, []

    def save(checkpoint: DatabaseCheckpoint, token: str) -> None:
        real(checkpoint, token)
        saved.append(token)
        if len(saved) == 3:
            ended_sessions(connections)
            raise dj.Unavailable("the connection was lost")

    monkeypatch.setattr(DatabaseCheckpoint, "save", save)
    sender.run()
    assert sender.receiver.ids() == [str(event.event_id) for event in events]


def test_a_consumer_that_was_moved_by_hand_is_refused(sender: Sender, events: list[dj.FeedEvent]) -> None:
    sender.journal.consumers.register("crm", at=0)
    with pytest.raises(dj.InvalidRequest, match="by hand"):
        sender.run()
    assert sender.receiver.got == []


def test_one_resource(sender: Sender, journal: dj.Journal) -> None:
    write(journal, document(STUDENT, 1), document(SCHOOL, 1), document(STUDENT, 2))
    request = dj.FeedRequest(dj.LogicalPartition(SCHOOL))
    Delivery(journal, "crm", sender.target(), request, follow=False).run()
    assert sender.receiver.documents() == [2]
    with pytest.raises(dj.InvalidRequest, match="another scope"):
        sender.run()


@pytest.mark.parametrize("seed", range(2))
def test_any_answers(sender: Sender, events: list[dj.FeedEvent], seed: int) -> None:
    """Whatever a receiver answers, after enough runs and replays it has taken everything, each document's in order, but for
    repetitions of requests that it has failed."""
    rng = random.Random(seed)
    sender.retries = replace(QUICK, patience=0.01)
    sender.receiver.answer = lambda got: rng.choice([204, 204, 500, 503, 422, 429, 404])
    for _ in range(60):
        try:
            sender.run(rng.choice([None, 3, 7]))
            sender.replay()
        except dj.ReceiverFailed:
            continue
        if not sender.letters() and sender.place() == newest(sender.journal):
            break
    sender.receiver.answer = lambda got: 204
    sender.replay()
    sender.run()
    came = list(dict.fromkeys(zip(sender.receiver.versions(), sender.receiver.documents(), strict=True)))
    all_ = [(version, of) for version, of, _ in told(events)]
    assert sorted(came) == all_
    for id_ in range(1, 5):
        assert of_document(came, id_) == of_document(all_, id_)
