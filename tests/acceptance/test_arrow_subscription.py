"""arrow.Subscription: a snapshot of one version, then each change once, with watermarks that hold (docs/events/arrow.md)."""

from __future__ import annotations

import itertools
import json
import random
import threading
from collections import Counter
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

import dmsjournal as dj
from dmsjournal.database.session import Session
from dmsjournal.events import arrow
from dmsjournal.schema import migrate
from tests.helpers import PLAN, SCHOOL, STUDENT, document, key_name, newest, write

Row = tuple[str, str, str]


def text(value: object) -> str:
    return json.dumps(value, sort_keys=True)


def loaded(value: str | None) -> str:
    return text(None if value is None else json.loads(value))


class Copy:
    """What a consumer keeps: rows with their weights, and the token, both of the pages that it has taken in whole."""

    def __init__(self, has_states: bool) -> None:
        self.has_states = has_states
        self.rows: Counter[Row] = Counter()
        self.token: str | None = None
        self.seen: set[bytes] = set()
        self.watermark = 0
        self.kinds: Counter[str] = Counter()

    def take(self, page: arrow.SubscriptionPage) -> None:
        for event in page.batch:
            self.kinds[type(event).__name__] += event.row_count or 1
            if isinstance(event, arrow.Watermark):
                assert event.timestamp > self.watermark
                self.watermark = event.timestamp
            elif not isinstance(event, arrow.Snapshot):
                new = event.parts[-1].to_pylist()
                assert self.seen.isdisjoint(row["event_id"] for row in new), "an event came twice"
                self.seen |= {row["event_id"] for row in new}
                assert min(row["timestamp"].timestamp() * 1e6 for row in new) >= self.watermark - 1, (
                    "an event from before a watermark"
                )
            for batch, weight in arrow.weighted(event):
                for row in batch.to_pylist():
                    state = loaded(row["state"]) if self.has_states else ""
                    self.rows[str(row["document_uuid"]), loaded(row["key_values"]), state] += weight
        if page.token is not None:
            assert set(self.rows.values()) <= {0, 1}, "a row that is not there went, or one came twice"
            self.token = page.token

    def state(self) -> Counter[Row]:
        return +self.rows


class Writers:
    """Random transactions, one of which may stay open for a while; `step` is called between the statements of a reader."""

    def __init__(self, url: str, seed: int, stack: ExitStack, has_images: bool) -> None:
        self.random = random.Random(seed)
        self.journal = stack.enter_context(dj.connect(url))
        self.pool = sa.create_engine(url)
        stack.callback(self.pool.dispose)
        stack.callback(self.close)
        self.has_images = has_images
        self.keys: dict[dj.ResourceKey, set[int]] = {STUDENT: set(), PLAN: set()}
        self.new_keys = itertools.count(100 + 1000 * seed)  # a database may hold the documents of other histories
        self.open: Any = None
        self.left = 0
        self.lock = threading.RLock()
        self.inside = threading.local()

    def step(self) -> None:
        """One more transaction, while there are any left; then the one that is open ends."""
        if getattr(self.inside, "writes", False):
            return
        with self.lock:
            self.inside.writes = True
            try:
                if self.left > 0:
                    self.left -= 1
                    self.write()
                else:
                    self.close()
            finally:
                self.inside.writes = False

    def write(self) -> None:
        match self.random.choice(["open", "body", *["change"] * 4]):
            case "open" if self.open is None:
                self.open = self.journal.write()
                self.open.__enter__().upsert(document(SCHOOL, self.random.randint(1, 3), body={"n": self.random.randint(1, 9)}))
            case "body" if (
                self.has_images and self.keys[STUDENT]
            ):  # a body that is written without its document: the next event tells it
                body = text({"alone": self.random.randint(1, 9)})
                with self.pool.begin() as connection:
                    for change in list(self.journal.snapshot(STUDENT))[:2]:
                        where = f"DocumentId = {change.document_id}"
                        connection.exec_driver_sql(f"UPDATE dms.DocumentCache SET DocumentJson = '{body}' WHERE {where}")
            case _:
                self.close()
                with self.journal.write() as tx:
                    for _ in range(self.random.randint(1, 3)):
                        self.change(tx)

    def close(self) -> None:
        if self.open is not None:
            self.open.__exit__(None, None, None)
            self.open = None

    def change(self, tx: dj.WriteTransaction) -> None:
        of = self.random.choice([STUDENT, PLAN])
        there = sorted(self.keys[of])
        match self.random.choice(["upsert", "upsert", "rekey", "delete"]):
            case "rekey" if there and of is STUDENT:
                old, new = self.random.choice(there), next(self.new_keys)
                tx.rekey(of, {key_name(of): old}, {key_name(of): new})
                self.keys[of] = self.keys[of] - {old} | {new}
            case "delete" if there and of is PLAN:
                gone = self.random.choice(there)
                tx.delete(of, {key_name(of): gone})
                self.keys[of].discard(gone)
            case _:
                key = self.random.randint(1, 12)
                tx.upsert(document(of, key, body={"n": self.random.randint(1, 9)}))
                self.keys[of].add(key)


def documents(journal: dj.Journal, has_states: bool) -> Counter[Row]:
    """The documents as they are now, read in the plainest way."""
    found: Counter[Row] = Counter()
    for resource in journal.resources():
        for each in journal.documents([change.document_id for change in journal.snapshot(resource)]).values():
            state = text(each.body) if has_states else ""
            found[str(each.document_uuid.bytes), text(each.key_values), state] += 1
    return found


@pytest.fixture
def between(monkeypatch: pytest.MonkeyPatch) -> list[Writers]:
    """Writers that write after each statement of any session that reads."""
    writers: list[Writers] = []
    execute = Session.execute

    def executed(session: Session, name: str, /, **binds: object) -> sa.Result[Any]:
        result = execute(session, name, **binds)
        for each in writers:
            if name.partition("/")[0] in ("events", "feed", "database") and each.random.random() < 0.5:
                each.step()
        return result

    monkeypatch.setattr(Session, "execute", executed)
    return writers


def check(url: str, seed: int, between: list[Writers], has_images: bool) -> Counter[str]:
    """One random history, read by a subscription that is killed now and then, beside writers."""
    rng = random.Random(seed)
    with ExitStack() as stack:
        writers = Writers(url, seed, stack, has_images)
        journal = stack.enter_context(dj.connect(url))
        writers.left = 12
        while writers.left:
            writers.step()
        writers.close()
        between.append(writers)
        copy = Copy(has_images)
        for run in range(4):
            writers.left = 15
            size = rng.choice([1, 3, 100])
            with arrow.Subscription(
                journal, "all", token=copy.token, follow=False, page_rows=size, patience=5, shortest_wait=0.01, longest_wait=0.02
            ) as pages:
                for page in pages:
                    if run < 3 and rng.random() < 0.1:
                        break  # killed before it has taken the page in
                    copy.take(page)
            if copy.token is None:
                copy = Copy(has_images)
        between.clear()
        writers.close()
        if has_images:  # what was written without its document is told with it
            with writers.pool.begin() as connection:
                connection.exec_driver_sql("UPDATE dms.Document SET ContentVersion = ContentVersion + 1")
        for page in arrow.Subscription(journal, "all", token=copy.token, follow=False):
            copy.take(page)
        assert copy.state() == documents(journal, has_images)
        assert copy.watermark > 0
        return copy.kinds


@pytest.mark.parametrize("has_images", [False, True], ids=["bare", "images"])
def test_a_copy_that_a_subscription_keeps_is_the_database(url: str, between: list[Writers], has_images: bool) -> None:
    if has_images:
        migrate.upgrade(url, options=["images"])
    kinds: Counter[str] = Counter()
    for seed in range(2):
        kinds += check(url, seed, between, has_images)
    assert {kind for kind, rows in kinds.items() if rows > 2} == {"Snapshot", "Watermark", "Insert", "Update", "Delete"}


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("has_images", [False, True], ids=["bare", "images"])
def test_a_copy_of_many_histories_is_the_database(url: str, between: list[Writers], has_images: bool) -> None:
    if has_images:
        migrate.upgrade(url, options=["images"])
    for seed in range(100, 150):
        check(url, seed, between, has_images)


def test_a_subscription_begins_with_all_documents_and_goes_on_with_changes(journal: dj.Journal) -> None:
    write(journal, document(STUDENT, 1, body={"n": 1}), document(STUDENT, 2, body={"n": 2}), document(SCHOOL, 1))
    pages = list(arrow.Subscription(journal, "all", follow=False, page_rows=2))
    told = [[(type(event).__name__, event.row_count) for event in page.batch] for page in pages]
    assert sorted(told[:2]) == [[("Snapshot", 1)], [("Snapshot", 2)]]  # a page of students, and one of schools
    assert told[2:] == [[("Watermark", 0)], [("Watermark", 0)]]
    assert [page.token is None for page in pages] == [True, True, False, False]
    assert {page.batch.source for page in pages} == {"all"}
    row = next(row for page in pages[:2] for row in page.batch.events[0].parts[0].to_pylist() if row["document_id"] == 1)
    assert (row["key_values"], row["state"], row["change_version"]) == ('{"studentId":1}', '{"n":1}', 1)
    write(journal, document(STUDENT, 1, body={"n": 3}), document(STUDENT, 3))
    changed, idle = arrow.Subscription(journal, "all", token=pages[-1].token, follow=False)
    assert [type(event).__name__ for event in changed.batch] == ["Insert", "Update", "Watermark"]
    assert (changed.batch.start, changed.batch.end) == (4, newest(journal) + 1)
    [again] = arrow.Subscription(journal, "all", token=changed.token, follow=False)
    assert [type(event).__name__ for page in (idle, again) for event in page.batch] == ["Watermark"] * 2


def test_a_database_without_documents_has_a_watermark_and_a_token(journal: dj.Journal) -> None:
    pages = list(arrow.Subscription(journal, "all", follow=False))
    assert [[type(event).__name__ for event in page.batch] for page in pages] == [["Watermark"], ["Watermark"]]
    write(journal, document(STUDENT, 1))
    page, _ = arrow.Subscription(journal, "all", token=pages[0].token, follow=False)
    assert page.batch.totals[arrow.EventType.INSERT] == 1


def test_resources_that_are_not_asked_for_are_in_neither_part(journal: dj.Journal) -> None:
    write(journal, document(STUDENT, 1), document(SCHOOL, 1))
    with arrow.Subscription(journal, "schools", resources=[SCHOOL], follow=False) as pages:
        begun = list(pages)
    assert [row["resource_name"] for event in begun[0].batch for row in event.parts[0].to_pylist()] == ["School"]
    write(journal, document(STUDENT, 2), document(SCHOOL, 2))
    page, _ = arrow.Subscription(journal, "schools", resources=[SCHOOL], token=begun[-1].token, follow=False)
    assert [row["resource_name"] for event in page.batch for part in event.parts for row in part.to_pylist()] == ["School"]
    with pytest.raises(dj.InvalidRequest, match="another filter"):
        next(arrow.Subscription(journal, "all", token=page.token, follow=False))


def test_a_checkpoint_is_saved_when_the_next_page_is_asked_for(journal: dj.Journal, tmp_path: Path) -> None:
    write(journal, document(STUDENT, 1))
    kept = dj.FileCheckpoint(tmp_path / "all.token")
    with arrow.Subscription(journal, "all", checkpoint=kept, follow=False) as pages:
        assert next(pages).token is None
        first = next(pages).token
        assert kept.load() is None
        next(pages)
        assert kept.load() == first
    write(journal, document(STUDENT, 2))
    with arrow.Subscription(journal, "all", checkpoint=kept, follow=False) as pages:
        assert [page.batch.totals[arrow.EventType.INSERT] for page in pages] == [1, 0]
    assert kept.load() != first


def test_a_watermark_waits_for_an_open_writer(journal: dj.Journal, url: str) -> None:
    token = list(arrow.Subscription(journal, "all", follow=False))[-1].token
    with dj.connect(url) as other:
        with other.write() as tx:
            tx.upsert(document(SCHOOL, 1))
            write(journal, document(STUDENT, 1))
            pages = list(arrow.Subscription(journal, "all", token=token, follow=False))
            assert [event for page in pages for event in page.batch] == []
        page, _ = arrow.Subscription(journal, "all", token=token, follow=False)
        assert [type(event).__name__ for event in page.batch] == ["Insert", "Watermark"]


def test_a_snapshot_waits_for_an_open_writer_as_long_as_its_patience(journal: dj.Journal, url: str) -> None:
    with dj.connect(url) as other, other.write() as tx:
        tx.upsert(document(SCHOOL, 1))
        subscription = arrow.Subscription(journal, "all", follow=False, patience=0.1, shortest_wait=0.01)
        with pytest.raises(dj.Unavailable, match="a writer holds the horizon at 0, the snapshot needs 1") as refused:
            next(subscription)
        with pytest.raises(dj.Unavailable) as again:  # and no end
            next(subscription)
        assert again.value is refused.value


def test_stop_ends_a_snapshot_that_waits_and_a_subscription_that_follows(journal: dj.Journal, url: str) -> None:
    with dj.connect(url) as other, other.write() as tx:
        tx.upsert(document(SCHOOL, 1))
        with arrow.Subscription(journal, "all", patience=60) as waiting:
            timer = threading.Timer(0.2, waiting.stop)
            timer.start()
            assert list(waiting) == []
            timer.join()
    with arrow.Subscription(journal, "all", longest_wait=0.1) as following:
        times: list[int] = []
        for page in following:
            times += [event.timestamp for event in page.batch if isinstance(event, arrow.Watermark)]
            if len(times) > 3:  # watermarks go on where nothing comes
                following.stop()
    assert len(times) > 3
    assert times == sorted(set(times))


def test_events_that_the_snapshot_needs_and_are_pruned_are_an_error(journal: dj.Journal, between: list[Any]) -> None:
    write(journal, document(STUDENT, 1), document(STUDENT, 2))

    class Pruning:
        random = random.Random(1)
        did = 0

        def step(self) -> None:
            self.did += 1
            if self.did == 2:  # the horizon was read
                write(journal, document(STUDENT, 3))
                write(journal, document(STUDENT, 4))
                journal.prune(through=3, pause=timedelta(0))

    between.append(Pruning())
    with pytest.raises(dj.CheckpointExpired):
        list(arrow.Subscription(journal, "all", follow=False))


def test_rows_of_the_snapshot_wait_in_a_folder_that_can_be_named(journal: dj.Journal, tmp_path: Path) -> None:
    write(journal, document(STUDENT, 1))
    assert len(list(arrow.Subscription(journal, "all", follow=False, folder=str(tmp_path)))) == 3
    assert list(tmp_path.iterdir()) == []  # the file has no name
    with pytest.raises(dj.Unavailable, match=r"cannot be kept in .*/none \(No such file or directory\): give"):
        next(arrow.Subscription(journal, "all", follow=False, folder=str(tmp_path / "none")))
    for wrong in (0, 10_001, True):
        with pytest.raises(dj.InvalidRequest, match="page_rows"):
            arrow.Subscription(journal, "all", page_rows=wrong)
