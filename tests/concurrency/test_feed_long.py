"""Two million events, by four processes that are killed at random, while writers go on and the partitions split and merge."""

import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import sqlalchemy as sa

import dmsjournal as dj
from tests.feeds import journaled

ROOT = Path(__file__).parents[2]
EVENTS = int(os.environ.get("DMSJOURNAL_TEST_FEED_EVENTS", "2000000"))
DOCUMENTS = 20_000
PAGE = 2_000  # of a worker
KILLS = (10, 30)  # seconds between two


class Group:
    """Four workers; one that was killed is started again."""

    def __init__(self, url: str, folder: Path) -> None:
        self.command = [sys.executable, "-m", "tests.feed_worker", url, str(folder)]
        self.errors = (folder / "errors").open("w")
        self.workers = [self.start() for _ in range(4)]
        self.killed, self.started = 0, time.monotonic()

    def start(self) -> "subprocess.Popen[bytes]":
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        return subprocess.Popen(self.command, cwd=ROOT, env=environment, stderr=self.errors)

    def kill_one_now_and_then(self) -> None:
        """One that has had the time to read something."""
        number = random.randrange(4)
        if self.workers[number].poll() is not None or time.monotonic() - self.started < random.uniform(*KILLS):
            return
        self.workers[number].send_signal(signal.SIGKILL)
        self.workers[number].wait()
        self.workers[number] = self.start()
        self.killed, self.started = self.killed + 1, time.monotonic()


@pytest.mark.long
@pytest.mark.timeout(7200)
def test_two_million_events_by_four_processes_that_are_killed(url: str, journal: dj.Journal, tmp_path: Path) -> None:
    engine = sa.create_engine(url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    with engine.connect() as conn:
        conn.exec_driver_sql("INSERT INTO dms.ResourceKey VALUES (1, 'Long', 'Document', '1')")
        conn.exec_driver_sql(f"INSERT INTO dms.Document (ResourceKeyId) SELECT 1 FROM generate_series(1, {DOCUMENTS})")
    enough = threading.Event()
    began = time.monotonic()

    def write(seed: int) -> None:
        rng = random.Random(seed)
        with engine.connect() as conn:
            while not enough.is_set():
                low, high = rng.randrange(DOCUMENTS), rng.randrange(1, 500)
                span = f"BETWEEN {low} AND {low + high}"
                try:
                    conn.exec_driver_sql(f"UPDATE dms.Document SET ContentVersion = NULL WHERE DocumentId {span}")
                    if rng.random() < 0.01:
                        conn.exec_driver_sql(f"DELETE FROM dms.Document WHERE DocumentId = {low}")
                except sa.exc.OperationalError:  # two writers that lock in another order each
                    continue

    group = Group(url, tmp_path)
    writers = [threading.Thread(target=write, args=(n,)) for n in range(2)]
    for writer in writers:
        writer.start()
    with engine.connect() as conn:
        counts, steps = [8, 3], [EVENTS // 3, EVENTS * 2 // 3]
        while (there := conn.exec_driver_sql("SELECT count(*) FROM dms.DocumentChangeEvent").scalar_one()) < EVENTS or counts:
            if counts and there > steps[0]:
                journal.change_bucket_count(counts.pop(0))
                steps.pop(0)
            time.sleep(2)
            group.kill_one_now_and_then()
    enough.set()
    for writer in writers:
        writer.join()
    (tmp_path / "done").touch()
    while any(worker.poll() is None for worker in group.workers):
        time.sleep(2)
        group.kill_one_now_and_then()
    assert [worker.returncode for worker in group.workers] == [0] * 4, (tmp_path / "errors").read_text()

    with engine.connect().execution_options(isolation_level="READ COMMITTED") as conn:
        expected = journaled(conn)
    twice, left = check(tmp_path, expected)
    assert left == len(expected)
    assert twice <= group.killed * PAGE * 2
    seconds = time.monotonic() - began
    print(f"{left} events, {group.killed} kills, {seconds:.0f} s; {twice} came twice, all left out by deduplicators of two pages")


def read_lines(folder: Path) -> list[list[str]]:
    """What the processes wrote, in the order of time. The last line of one that was killed may be cut: its page was not kept."""
    rows = [line.split(" ") for file in folder.glob("*.events") for line in file.read_text(encoding="ascii").split("\n")[:-1]]
    return sorted(rows, key=lambda row: int(row[0]))  # stable: within a page in the page's order


def check(folder: Path, expected: list[tuple[int, int, str]]) -> tuple[int, int]:
    """Every event is there, each document's in order. How many came twice, and how many are left when each id is taken once.

    A partition comes again from its last kept page on: a deduplicator of two pages, one a partition, leaves all of that out.
    """
    seen: dict[str, dj.Deduplicator] = {}
    left = 0
    first: dict[str, tuple[int, int, str]] = {}
    twice = 0
    for _, version, document_id, event_id, kind, partition in read_lines(folder):
        left += seen.setdefault(partition, dj.Deduplicator(2 * PAGE)).add(event_id)
        event = (int(version), int(document_id), kind)
        twice += event_id in first
        assert first.setdefault(event_id, event) == event
    assert sorted(first.values()) == expected
    last: dict[int, int] = {}
    for version, document_id, _ in first.values():  # in the order in which they came first
        assert version > last.get(document_id, 0), f"document {document_id} at {version} after {last[document_id]}"
        last[document_id] = version
    return twice, left
