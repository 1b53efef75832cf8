"""Jobs on a standalone cluster of two worker processes, by spark-submit; and what becomes of them when something is killed."""

import os
import random
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
import sqlalchemy as sa

import dmsjournal as dj
from dmsjournal.schema.migrate import upgrade
from dmsjournal.spark.runs import Output
from dmsjournal.testing.embedded import EmbeddedPostgres
from tests.helpers import newest
from tests.spark.changing import change, rows_of_database, state_of_database
from tests.spark.cluster import Cluster, cluster, end
from tests.spark.outputs import rows_of, table_of

pytestmark = pytest.mark.xdist_group("spark")

LOCKED = "another run ("


@pytest.fixture(scope="module")
def workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster(tmp_path_factory.mktemp("cluster")) as started:
        yield started


SEED = """
    INSERT INTO dms.ResourceKey (ProjectName, ResourceName, ResourceVersion)
    SELECT 'Ed-Fi', name, '5.2.0' FROM unnest(ARRAY['Student', 'School', 'Section']) AS name;
    INSERT INTO dms.Document (ResourceKeyId, KeyValues)
    SELECT (SELECT min(ResourceKeyId) FROM dms.ResourceKey) + mod(n, 3),
           jsonb_build_object('id', n) FROM generate_series(1, {0}) AS n;
    INSERT INTO dms.DocumentCache (DocumentId, DocumentJson, Etag, ComputedVersion)
    SELECT DocumentId, jsonb_build_object('n', DocumentId), '', 0 FROM dms.Document;
    INSERT INTO dms.ReferenceEdge (ParentDocumentId, ChildDocumentId)
    SELECT DocumentId, DocumentId - 1 - mod(DocumentId, 7) FROM dms.Document WHERE DocumentId > 10"""
TOUCH = "UPDATE dms.Document SET ContentVersion = ContentVersion + 1 WHERE mod(DocumentId, 4) = {0}"


def run(url: str, script: str) -> None:
    with sa.create_engine(url, poolclass=sa.NullPool).begin() as conn:
        for statement in script.split(";"):
            conn.exec_driver_sql(statement)


@pytest.mark.long
@pytest.mark.timeout(1500)  # seven Javas start, one after the other
def test_extract_and_apply_on_a_cluster(workers: Cluster, url: str, journal: dj.Journal, tmp_path: Path) -> None:
    run(url, SEED.format(300))
    out, table = tmp_path / "out", tmp_path / "table"
    code, told = workers.run("extract_changes.py", str(out), "--events-per-part", "100", DMSJOURNAL_URL=url)
    assert code == 0, told
    assert rows_of(out)["upsert"] == rows_of_database(url, 0, newest(journal))["upsert"]
    code, told = workers.run("apply_changes.py", str(out), str(table), "--verify", DMSJOURNAL_URL=url)
    assert code == 0, told
    assert table_of(table) == state_of_database(url)


# --- faults: long ---


class Mortal:
    """A server that is killed, and a database on it."""

    def __init__(self, embedded: EmbeddedPostgres) -> None:
        self.embedded, self.url = embedded, embedded.url()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Mortal]:
    with EmbeddedPostgres(bin_dir=os.environ.get("DMSJOURNAL_TEST_POSTGRES_BIN")) as embedded:
        upgrade(embedded.url())
        run(embedded.url(), SEED.format(DOCUMENTS))
        yield Mortal(embedded)


DOCUMENTS = 20_000
RUNS = int(os.environ.get("DMSJOURNAL_TEST_FAULTS", "20"))


def kill_executor(workers: Cluster, _: Mortal, __: "subprocess.Popen[str]", chance: random.Random) -> None:
    if running := workers.executors():
        with suppress(psutil.NoSuchProcess):
            chance.choice(running).kill()


def kill_worker(workers: Cluster, _: Mortal, __: "subprocess.Popen[str]", chance: random.Random) -> None:
    worker = workers.workers.pop(chance.randrange(2))
    worker.kill()  # its executors see that and go
    worker.wait()
    workers.workers.append(workers.start_worker())


def kill_driver(_: Cluster, __: Mortal, job: "subprocess.Popen[str]", chance: random.Random) -> None:
    if job.poll() is not None:
        return
    family = psutil.Process(job.pid).children(recursive=True)
    with suppress(psutil.NoSuchProcess):  # Java or Python; the other one sees that
        chance.choice([psutil.Process(job.pid), *family]).kill()


def kill_postgres(_: Cluster, server: Mortal, __: "subprocess.Popen[str]", chance: random.Random) -> None:
    server.embedded.kill()
    time.sleep(chance.random() * 3)
    server.embedded.start()


KILLS: list[Callable[..., None]] = [kill_executor, kill_worker, kill_driver, kill_postgres]


@pytest.mark.long
@pytest.mark.timeout(7200)
@pytest.mark.acceptance("62")
def test_whatever_is_killed_the_next_run_is_exact(workers: Cluster, server: Mortal, tmp_path: Path) -> None:
    chance = random.Random(int(os.environ.get("DMSJOURNAL_TEST_SEED", "1")))
    out, table = tmp_path / "out", tmp_path / "table"
    seen: list[str] = []
    for number in range(RUNS):
        run(server.url, TOUCH.format(number % 4))
        change(server.url, chance, 20)
        kill = KILLS[number % len(KILLS)]
        before = visible(out)
        with dj.connect(server.url) as journal:
            written = newest(journal)
        job = workers.submit("extract_changes.py", str(out), "--events-per-part", "400", DMSJOURNAL_URL=server.url)
        try:
            wait = 2 + chance.random() * SECONDS
            with suppress(subprocess.TimeoutExpired):
                job.wait(wait)
            over = job.poll() is not None
            kill(workers, server, job, chance)
            told, _ = job.communicate(timeout=300)
        finally:
            end(job)
        with dj.connect(server.url) as journal:
            last = newest(journal)  # a server that was killed may pass over some versions
        killed_run = visible(out)[len(before) :]
        seen.append(
            f"{kill.__name__} after {wait:.1f} s: {'over' if over else 'running'}, exit {job.returncode}, {len(killed_run)} run"
        )
        print(seen[-1], flush=True)
        assert len(killed_run) <= 1
        check(out, server.url, range(written, last + 1), before)  # whatever shows is whole, before the next run
        again = rerun(workers, "extract_changes.py", str(out), "--events-per-part", "400", DMSJOURNAL_URL=server.url)
        assert again[0] == 0, told + again[1]
        check(out, server.url, range(written, last + 1), before)
        assert Output(out).runs()[-1].last == last
        if number % 5 == 4:
            code, words = workers.run("apply_changes.py", str(out), str(table), "--verify", DMSJOURNAL_URL=server.url)
            assert code == 0, words
            assert table_of(table) == state_of_database(server.url)


SECONDS = float(os.environ.get("DMSJOURNAL_TEST_FAULT_SECONDS", "20"))  # within which something is killed


def visible(out: Path) -> list[str]:
    return sorted(each.name for each in out.iterdir() if each.name[0] not in "._") if out.exists() else []


def check(out: Path, url: str, ends: range, before: list[str]) -> None:
    """What came since ends where it may, and has what the definitions say, row by row."""
    for name in (name for name in visible(out) if name not in before):
        first, through = (int(number) for number in name.removeprefix("run=").split("-"))
        assert through in ends
        expected = rows_of_database(url, first, through)
        if first == 0:
            expected |= {"delete": [], "key_change": []}
        assert rows_of(out, name) == expected


def rerun(workers: Cluster, job: str, *arguments: str, **environment: str) -> tuple[int, str]:
    """The job once more; the killed one's processes may need a moment to go, and hold the lock until then."""
    for _ in range(30):
        code, told = workers.run(job, *arguments, **environment)
        if LOCKED not in told:
            break
        time.sleep(2)
    return code, told
