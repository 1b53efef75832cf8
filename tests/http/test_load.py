"""Many clients at once: all get all, in order, from a bounded number of connections; what it took is printed."""

from __future__ import annotations

import asyncio
import threading
import time

import psutil
import pytest
import sqlalchemy as sa

import dmsjournal as dj
from tests.helpers import STUDENT, commit, document, write
from tests.http.conftest import READ, Process
from tests.http.crowd import Client, poll, stream

BATCH = 10  # documents of a transaction


@pytest.mark.parametrize(
    ("streams", "polls", "a_second", "seconds"),
    [(20, 20, 100, 2), pytest.param(200, 50, 500, 120, marks=[pytest.mark.long, pytest.mark.timeout(900)])],
)
def test_all_get_all_in_order(
    process: Process, db: dj.Journal, connections: list[sa.Connection], streams: int, polls: int, a_second: int, seconds: int
) -> None:
    write(db, *(document(STUDENT, n) for n in range(BATCH)))
    committed: dict[int, float] = {}  # when each version was committed
    stopping = threading.Event()

    def change() -> None:
        began = time.monotonic()
        for n in range(a_second * seconds // BATCH):
            write(db, *(document(STUDENT, key, body={"n": n}) for key in range(BATCH)))
            at, newest = time.time(), db.versions().newest
            committed.update(dict.fromkeys(range(newest - BATCH + 1, newest + 1), at))
            time.sleep(max(0.0, began + (n + 1) * BATCH / a_second - time.monotonic()))
        stopping.set()

    clients = [Client() for _ in range(streams + polls)]
    last = BATCH + a_second * seconds

    def is_done(client: Client) -> bool:
        return bool(client.seen) and client.seen[-1] >= last

    async def follow() -> None:
        await asyncio.gather(
            *(stream(process.port, READ, client, BATCH, lambda c=client: is_done(c)) for client in clients[:streams]),
            *(poll(process.port, READ, client, BATCH, lambda c=client: is_done(c)) for client in clients[streams:]),
        )

    assert process.process is not None
    server = psutil.Process(process.process.pid)
    resident: list[int] = []
    used: list[int] = []

    def watch() -> None:
        count = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'dmsjournal' AND datname = current_database()"
        while not stopping.wait(0.5):
            resident.append(server.memory_info().rss)
            used.append(commit(connections[0], count)[0][0])

    threads = [threading.Thread(target=change), threading.Thread(target=watch)]
    for thread in threads:
        thread.start()
    asyncio.run(asyncio.wait_for(follow(), seconds * 3 + 60))
    for thread in threads:
        thread.join()

    for client in clients:
        assert client.seen == list(range(BATCH + 1, last + 1))
    assert max(used) <= 9 + 2  # the service's pool, and the test's own
    lots = [(client, *lot) for client in clients for lot in client.lots]
    delays = sorted(at - committed[version] for client, at, begin, end in lots for version in client.seen[begin:end])
    print(
        f"\n{streams} streams, {polls} long polls, {a_second} changes a second, {seconds} s: commit to client "
        f"p50 {delays[len(delays) // 2] * 1000:.0f} ms, p99 {delays[len(delays) * 99 // 100] * 1000:.0f} ms, "
        f"most {delays[-1] * 1000:.0f} ms; {resident[0] >> 20} to {resident[-1] >> 20} MiB (most {max(resident) >> 20}); "
        f"{max(used)} connections"
    )
    half = len(resident) // 2
    assert max(resident[half:]) < max(resident[: half + 1]) * 1.5  # it does not grow with what was sent
