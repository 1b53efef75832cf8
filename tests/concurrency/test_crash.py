"""A server that is killed (acceptance 37): what was committed is there, versions keep rising, the reader goes on."""

import os
import random
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
import sqlalchemy as sa

import dmsjournal as dj
from dmsjournal.schema.migrate import upgrade
from dmsjournal.testing.embedded import EmbeddedPostgres

from .mutating import Edit
from .pruned import History, expire_leases, populate
from .races import Race, Reader

pytestmark = pytest.mark.xdist_group("crash")  # one server, killed by one test at a time

SETTINGS = {
    "fsync": "on",
    "max_prepared_transactions": "5",
    "shared_buffers": "16MB",
    "wal_writer_delay": "10s",  # nobody but a commit flushes the log
    "checkpoint_timeout": "1h",
    "bgwriter_lru_maxpages": "0",
    "autovacuum": "off",
}
LOGGED_AHEAD = 32  # a sequence writes to the log once in so many stamps
NOT_FLUSHED: Edit = ("functions/horizon.v1", "pg_current_wal_flush_lsn() < pg_current_wal_insert_lsn()", "false")


class Mortal:
    """A server that may be killed, and a database on it."""

    def __init__(self, embedded: EmbeddedPostgres, database: str) -> None:
        self.embedded, self.url = embedded, embedded.url(database)

    def kill_and_restart(self) -> None:
        self.embedded.kill()
        self.embedded.start()
        assert self.embedded.url(self.url.rpartition("/")[2]) == self.url


@pytest.fixture(scope="module")
def embedded() -> Iterator[EmbeddedPostgres]:
    with EmbeddedPostgres(settings=SETTINGS, bin_dir=os.environ.get("DMSJOURNAL_TEST_POSTGRES_BIN")) as embedded:
        upgrade(embedded.url())
        yield embedded


@pytest.fixture
def server(embedded: EmbeddedPostgres, request: pytest.FixtureRequest) -> Mortal:
    engine = sa.create_engine(embedded.url("template1"), poolclass=sa.NullPool, isolation_level="AUTOCOMMIT")
    name = f"crash_{abs(hash(request.node.name))}"
    with engine.connect() as conn:
        conn.exec_driver_sql(f"CREATE DATABASE {name} TEMPLATE postgres")
    return Mortal(embedded, name)


def next_stamp(url: str) -> int:
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with engine.connect() as conn:
        conn.execute(sa.text("SET TRANSACTION READ WRITE"))
        return int(conn.execute(sa.text("SELECT nextval('dms.changeversionsequence')")).scalar_one())


def stamps_that_a_crash_may_take_back(race: Race, document: int, asynchronous: bool = False) -> int:
    """Draws stamps until the sequence has been logged and nobody has flushed that; the last stamp.

    Rolled back, they are flushed by nobody; committed asynchronously, by nobody yet.
    """
    if asynchronous:
        race.first.sql("SET synchronous_commit = off")
        race.first.commit()
    for _ in range(LOGGED_AHEAD + 8):
        before = race.look("SELECT log_cnt FROM dms.changeversionsequence").scalar_one()
        stamp = race.first.touch(document)
        if asynchronous:
            race.first.commit()
        else:
            race.first.rollback()
        if race.look("SELECT log_cnt FROM dms.changeversionsequence").scalar_one() > before:
            return stamp
    raise AssertionError("the sequence was not logged")


def newest_after_stamps_were_given_back(server: Mortal, mutation: tuple[Edit, ...] = (), default: str = "") -> tuple[int, int]:
    """What was reported as newest before a crash, and the first stamp after it."""
    race = Race(server.url, mutation)
    if default:
        database = race.look("SELECT current_database()").scalar_one()
        race.look(f"ALTER DATABASE {database} SET {default}")  # of the sessions that begin after this
    document, _ = race.committed(lambda w: w.create())[0]
    stamps_that_a_crash_may_take_back(race, document)
    newest = race.newest()
    server.kill_and_restart()
    return newest, next_stamp(server.url)


@pytest.mark.acceptance("37")
def test_no_stamp_is_given_that_was_reported_as_newest(server: Mortal) -> None:
    newest, stamp = newest_after_stamps_were_given_back(server)
    assert stamp > newest


@pytest.mark.acceptance("37")
def test_without_the_flush_a_stamp_is_given_again(server: Mortal) -> None:
    """The mutation of the test before: tests/mutations.md."""
    newest, stamp = newest_after_stamps_were_given_back(server, (NOT_FLUSHED,))
    assert stamp <= newest


@pytest.mark.acceptance("37")
@pytest.mark.parametrize("default", ["default_transaction_read_only = on", "synchronous_commit = off"])
def test_no_stamp_is_given_that_was_reported_as_newest_whatever_the_readers_default(server: Mortal, default: str) -> None:
    newest, stamp = newest_after_stamps_were_given_back(server, default=default)
    assert stamp > newest


@pytest.mark.acceptance("37")
@pytest.mark.parametrize("whose", ["the session's", "the database's"])
def test_no_stamp_is_given_that_an_asynchronous_commit_showed(server: Mortal, whose: str) -> None:
    """A commit that is not flushed would be seen before a crash can no longer take it back: it is flushed all the same."""
    race = Race(server.url)
    document, _ = race.committed(lambda w: w.create())[0]
    database = race.look("SELECT current_database()").scalar_one()
    if whose == "the database's":
        race.look(f"ALTER DATABASE {database} SET synchronous_commit = off")  # of the sessions that begin after this
    race.journal.close()
    shown = stamps_that_a_crash_may_take_back(race, document, asynchronous=True)
    race.reader.step()
    assert race.reader.passed == shown
    server.kill_and_restart()
    engine = sa.create_engine(server.url, poolclass=sa.NullPool)
    with engine.begin() as conn:
        stamp = conn.execute(sa.text("UPDATE dms.Document SET ContentVersion = NULL RETURNING ContentVersion")).scalar_one()
    assert stamp > race.reader.passed
    race.journal.close()
    assert race.reader.step() == [document]


@pytest.mark.acceptance("34")
@pytest.mark.acceptance("37")
def test_a_prepared_transaction_holds_newest_across_a_crash(server: Mortal) -> None:
    race = Race(server.url)
    (a, _), (b, _) = race.committed(lambda w: w.create(), lambda w: w.create())
    lower = race.first.touch(a)
    race.first.sql("PREPARE TRANSACTION 'race'")
    race.second.touch(b)
    race.second.commit()
    server.kill_and_restart()
    race.journal.close()
    assert race.newest() < lower
    race.reader.step()
    engine = sa.create_engine(server.url, poolclass=sa.NullPool, isolation_level="AUTOCOMMIT")
    with engine.connect() as conn:
        conn.execute(sa.text("COMMIT PREPARED 'race'"))
    assert race.reader.step() == [a, b]


@pytest.mark.acceptance("37")
def test_a_server_killed_under_writers_loses_nothing(server: Mortal) -> None:
    race = Race(server.url)
    documents = [i for i, _ in race.committed(*[lambda w: w.create()] * 8)]
    race.onlooker.close()
    committed: dict[int, int] = {}  # what a writer was told
    enough, reader = threading.Event(), Reader(race.journal)

    def write(document: int) -> None:
        writer = race.writer()
        try:
            for n in range(100_000):
                stamp = writer.touch(document)
                if n % 5 == 4:
                    writer.rollback()
                    continue
                writer.commit()
                committed[document] = stamp
                if n == 30:
                    enough.set()
        except sa.exc.DBAPIError:
            return  # killed

    def read() -> None:
        try:
            while True:
                reader.step()
        except dj.Unavailable:
            return

    with ThreadPoolExecutor(9) as threads:
        for document in documents:
            threads.submit(write, document)
        reading = threads.submit(read)
        assert enough.wait(60)
        server.embedded.kill()
        reading.result(60)
    passed, seen = reader.passed, dict(reader.seen)
    server.embedded.start()
    race.journal.close()
    assert race.newest() >= passed
    engine = sa.create_engine(server.url, poolclass=sa.NullPool)
    with engine.begin() as conn:
        stored = dict(conn.execute(sa.text("SELECT DocumentId, ContentVersion FROM dms.Document")).all())
        stamps = conn.execute(sa.text("UPDATE dms.Document SET ContentVersion = NULL RETURNING ContentVersion")).scalars().all()
    assert all(stored[document] >= stamp for document, stamp in committed.items())
    assert all(stored[document] >= stamp for document, stamp in seen.items())
    assert min(stamps) > max(passed, *committed.values())
    assert sorted(reader.step()) == documents
    assert reader.seen == {i: derived.change_version for i, derived in race.journal.derive(documents).items()}


@pytest.mark.acceptance("52")
@pytest.mark.parametrize("kills", [2, pytest.param(30, marks=[pytest.mark.long, pytest.mark.timeout(1800)])])
def test_a_server_killed_under_a_prune_leaves_floors_and_rows_in_agreement(server: Mortal, kills: int) -> None:
    populate(server.url, 1000 * kills)
    history = History(server.url)
    rng = random.Random(kills)
    left = history.check()

    def prune(reached: threading.Event, share: float) -> None:
        def watch(pruned: dj.Pruned) -> None:
            if pruned.deleted >= share * left:
                reached.set()

        with dj.connect(server.url) as journal, suppress(dj.Unavailable):
            journal.prune(history.newest, batch_size=20, progress=watch)

    for kill in range(kills):
        reached = threading.Event()
        with ThreadPoolExecutor(1) as thread:
            pruning = thread.submit(prune, reached, rng.random() / (kills + 1 - kill))
            assert reached.wait(60)
            time.sleep(rng.random() / 50)
            server.embedded.kill()
            pruning.result(60)
        server.embedded.start()
        expire_leases(server.url)
        left, before = history.check(), left
        assert 0 < left < before
    with dj.connect(server.url) as journal:
        assert journal.prune(history.newest).finished
    assert history.check() == 0
