"""A worker of a group of processes that share the feed's partitions, for the long test: what it does a user's program would do.

It takes a partition that may be read and that no other worker has, by a lock of its session; reads it page by page; writes the
events to a file of its own; and keeps the token in the database, after that. A retired partition's children get their tokens
before it is done.

python -m tests.feed_worker URL FOLDER
"""

import os
import random
import sys
import time
from pathlib import Path

import sqlalchemy as sa

import dmsjournal as dj
from dmsjournal.feed import FeedPage, readable
from dmsjournal.feed.scopes import PhysicalPartition

GROUP = "long"


class Worker:
    def __init__(self, url: str, folder: str) -> None:
        self.journal = dj.connect(url)
        self.locks = sa.create_engine(url, poolclass=sa.NullPool).connect().execution_options(isolation_level="AUTOCOMMIT")
        self.file = (Path(folder) / f"{os.getpid()}.events").open("a", encoding="ascii")
        self.done = Path(folder) / "done"

    def run(self) -> None:
        while not (self.done.exists() and not self.unfinished()):
            scope = self.take()
            if scope is None:
                time.sleep(0.1)
                continue
            try:
                self.read(scope)
            finally:
                self.locks.execute(sa.text("SELECT pg_advisory_unlock(77, hashtext(:id))"), {"id": scope.id})

    def finished(self) -> set[str]:
        return {c.name.rpartition("/")[2] for c in self.journal.consumers.list() if c.name.startswith(f"{GROUP}/finished/")}

    def unfinished(self) -> bool:
        """Whether a partition was not read to its end, or to the end of all there is."""
        listed, finished = self.journal.list_physical_partitions(), self.finished()
        lags = {c.name: c.lag for c in self.journal.consumers.list()}
        return any(p.id not in finished and (p.ends_at is not None or lags.get(f"{GROUP}/{p.id}", 1) > 0) for p in listed)

    def take(self) -> PhysicalPartition | None:
        ready = readable(self.journal.list_physical_partitions(), self.finished())
        for partition in random.sample(ready, len(ready)):
            lock = sa.text("SELECT pg_try_advisory_lock(77, hashtext(:id))")
            if self.locks.execute(lock, {"id": partition.id}).scalar():
                return partition.scope
        return None

    def read(self, scope: PhysicalPartition) -> None:
        """All pages that there are."""
        if scope.id in self.finished():
            return
        checkpoint = dj.DatabaseCheckpoint(self.journal, f"{GROUP}/{scope.id}")
        request = dj.FeedRequest(scope, max_page_size=2_000)
        with dj.FeedIterator(self.journal, request, checkpoint=checkpoint, follow=False) as events:
            for page in events.pages():
                self.write(page, scope.id)
            for child in events.children:
                kept = dj.DatabaseCheckpoint(self.journal, f"{GROUP}/{child.scope.id}")
                if kept.load() is None:
                    kept.save(child.token)
            if events.children:
                self.journal.consumers.register(f"{GROUP}/finished/{scope.id}")

    def write(self, page: FeedPage, partition: str) -> None:
        now = time.monotonic_ns()  # of the machine, so that what two processes did can be put in order
        self.file.writelines(
            f"{now} {e.change_version} {e.key.document_id} {e.event_id} {e.type} {partition}\n" for e in page.events
        )
        self.file.flush()
        os.fsync(self.file.fileno())


if __name__ == "__main__":
    Worker(*sys.argv[1:]).run()
