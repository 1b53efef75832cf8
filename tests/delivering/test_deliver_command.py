"""The command: killed and stopped at any moment, its exit codes, and what it never shows."""

import hashlib
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import sqlalchemy as sa
from typer.testing import CliRunner

import dmsjournal as dj
from dmsjournal import cli
from dmsjournal.deliver.dead_letters import DeadLetters
from dmsjournal.events import jsonl
from tests.delivering.receiver import SECRET, Got, Receiver, receiving, refusing
from tests.feeds import walk
from tests.helpers import STUDENT, document, newest, write

ROOT = Path(__file__).parents[2]
KILLS = 3
QUICK = ["--tries", "2", "--shortest-wait", "1ms", "--longest-wait", "2ms", "--patience", "0s"]


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


@pytest.fixture(autouse=True)
def environment(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The database is that of the test's journal, none where it has none."""
    url = request.getfixturevalue("url") if "journal" in request.fixturenames else "postgresql+psycopg://nobody@127.0.0.1:1/nowhere"
    monkeypatch.setenv("DMSJOURNAL_URL", url)
    monkeypatch.setenv("DMSJOURNAL_WEBHOOK_SECRET", SECRET)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.chdir(tmp_path)


def invoke(*arguments: str) -> tuple[int, str]:
    """Exit code, and stdout and stderr in one."""
    result = CliRunner().invoke(cli.app, ["deliver", "--consumer", "crm", *arguments])
    return result.exit_code, result.output


def started(*arguments: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "dmsjournal", "deliver", "--consumer", "crm", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@contextmanager
def changing(url: str, documents: int = 20) -> Iterator[None]:
    """Meanwhile documents change, a thousand times at most."""
    enough = threading.Event()
    engine = sa.create_engine(url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)

    def change() -> None:
        rng = random.Random(1)
        with engine.connect() as conn:
            for _ in range(200):
                if enough.wait(0.03):
                    return
                low = rng.randint(1, documents)
                conn.exec_driver_sql(f"UPDATE dms.Document SET ContentVersion = NULL WHERE DocumentId BETWEEN {low} AND {low + 4}")

    writer = threading.Thread(target=change)
    writer.start()
    try:
        yield
    finally:
        enough.set()
        writer.join()


def let_leases_end(url: str) -> None:
    """As if the 30 seconds were over for which the next run waits for the lease of one that was killed."""
    engine = sa.create_engine(url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    killed = "datname = current_database() AND application_name = 'dmsjournal' AND state <> 'idle' AND xact_start < now()"
    of_killed = f"SELECT count(*) FROM pg_stat_activity WHERE {killed}"
    with engine.connect() as conn:
        wait_for(lambda: conn.exec_driver_sql(of_killed).scalar_one() == 0)
        conn.exec_driver_sql("UPDATE dms.Lease SET ExpiresAt = clock_timestamp()")


def wait_for(happens, seconds: float = 30) -> None:
    until = time.monotonic() + seconds
    while not happens():
        assert time.monotonic() < until
        time.sleep(0.005)


def assert_in_order_by_document(came: list[tuple[int, int]], journal: dj.Journal) -> None:
    """All events of the journal came, and without repetitions each document's are in its order."""
    all_ = [(event.change_version, event.key.document_id or 0) for event in walk(journal, dj.FeedRequest())[0]]
    unique = list(dict.fromkeys(came))
    assert sorted(unique) == all_
    for id_ in {of for _, of in all_}:
        versions = [version for version, of in unique if of == id_]
        assert versions == sorted(versions)


@pytest.mark.parametrize(
    ("size", "most"),
    [
        pytest.param([], None, id="one by one"),
        pytest.param(["--batch-size", "25", "--save-every", "0s"], 25, id="arrays", marks=pytest.mark.long),
    ],
)
def test_nothing_is_lost_to_a_receiver_whenever_it_is_killed(
    receiver: Receiver, journal: dj.Journal, url: str, size: list[str], most: int | None
) -> None:
    """The receiver fails now and then, and refuses one document until the end."""
    write(journal, *(document(STUDENT, n) for n in range(1, 25)))
    rng = random.Random(7)

    def answer(got: Got) -> int:
        return 500 if rng.random() < 0.05 else refusing(3, status=422)(got)

    receiver.answer = answer
    options = ["--to", receiver.url, "--dead-letters", "dead.jsonl", *QUICK, "--tries", "9", *size]
    with changing(url):
        for _ in range(KILLS):
            process, before = started(*options), len(receiver.got)
            wait_for(lambda before=before: len(receiver.got) > before)
            time.sleep(rng.uniform(0, 0.25))
            process.kill()
            process.communicate()
            assert process.returncode == -signal.SIGKILL
            let_leases_end(url)
    assert invoke(*options, "--once")[0] == 3  # there are dead letters
    receiver.answer = lambda got: 204
    assert invoke(*options, "--replay")[0] == 0
    assert invoke(*options, "--once")[0] == 0
    assert_in_order_by_document(list(zip(receiver.versions(), receiver.documents(), strict=True)), journal)
    repeated = len(receiver.ids()) - len(set(receiver.ids()))
    assert most is None or repeated <= KILLS * most


def test_nothing_is_lost_to_files_whenever_it_is_killed(journal: dj.Journal, url: str, tmp_path: Path) -> None:
    """And a file that has its name never changes, nor has it half a line, whenever it is looked at."""
    write(journal, *(document(STUDENT, n) for n in range(1, 25)))
    folder, rng = tmp_path / "out", random.Random(8)
    options = ["--files", str(folder), "--max-bytes", "8000", "--batch-size", "10", "--save-every", "0s"]
    digests: dict[str, str] = {}

    def look() -> None:
        for path in folder.glob("*.jsonl"):
            text = path.read_bytes()
            assert text.endswith(b"\n")
            assert len(text) <= 8000
            assert digests.setdefault(path.name, hashlib.sha256(text).hexdigest()) == hashlib.sha256(text).hexdigest()

    def written() -> int:
        return sum(path.stat().st_size for path in folder.glob("*.jsonl*") if path.exists())

    with changing(url):
        for _ in range(KILLS):
            before, process = written(), started(*options)
            wait_for(lambda before=before: written() > before)
            until = time.monotonic() + rng.uniform(0, 0.25)
            while time.monotonic() < until:
                look()
            process.kill()
            process.communicate()
            assert process.returncode == -signal.SIGKILL
            let_leases_end(url)
    code, output = invoke(*options, "--once")
    assert (code, list(folder.glob("*.open"))) == (0, [])
    look()
    came = [
        (event.change_version, event.key.document_id or 0)
        for path in sorted(folder.glob("*.jsonl"))
        for event in jsonl.read(path.open("rb"))
    ]
    assert_in_order_by_document(came, journal)
    assert len(came) - len(set(came)) <= KILLS * 10
    assert len(digests) > KILLS
    assert re.fullmatch(r"written=\d+ files=\d+\n", output)


def test_sigterm_ends_it_well(receiver: Receiver, journal: dj.Journal, url: str) -> None:
    """What is on its way is answered and saved: the next run repeats nothing."""
    write(journal, *(document(STUDENT, n) for n in range(1, 25)))
    options = ["--to", receiver.url, "--dead-letters", "dead.jsonl"]
    with changing(url):
        for number in (signal.SIGTERM, signal.SIGINT):
            process, before = started(*options), len(receiver.got)
            wait_for(lambda before=before: len(receiver.got) > before + 20)
            process.send_signal(number)
            output, errors = process.communicate(timeout=20)
            assert re.fullmatch(r"delivered=\d+ dead_letters=0 requests=\d+\n", output), output
            assert (process.returncode, errors) == ((0, "") if number == signal.SIGTERM else (130, "interrupted\n"))
    assert invoke(*options, "--once")[0] == 0
    assert receiver.ids() == [str(event.event_id) for event in walk(journal, dj.FeedRequest())[0]]


def test_files_are_finished_at_sigterm(journal: dj.Journal, tmp_path: Path) -> None:
    write(journal, document(STUDENT, 1))
    folder = tmp_path / "out"
    process = started("--files", str(folder))
    wait_for(lambda: any(path.stat().st_size for path in folder.glob("*.open")))
    process.terminate()
    assert process.communicate(timeout=20) == ("written=1 files=1\n", "")
    assert process.returncode == 0
    assert [path.suffix for path in folder.glob("*.jsonl*")] == [".jsonl"]
    assert journal.consumers.get("crm").through == newest(journal)


def test_a_second_one_is_refused(receiver: Receiver, journal: dj.Journal, tmp_path: Path) -> None:
    write(journal, document(STUDENT, 1))
    process = started("--to", receiver.url, "--dead-letters", "dead.jsonl")
    wait_for(lambda: bool(receiver.got))
    code, output = invoke("--files", str(tmp_path / "out"), "--once")
    assert code == 75
    assert f"another program reads as consumer crm: role postgres, process {process.pid} on " in output
    process.terminate()
    assert process.wait(20) == 0


def test_exit_codes(receiver: Receiver, journal: dj.Journal) -> None:
    write(journal, *(document(STUDENT, n) for n in range(1, 4)))
    options = ["--to", receiver.url, "--dead-letters", "dead.jsonl", *QUICK, "--once"]
    origin = receiver.url.removesuffix("/hook")

    receiver.answer = lambda got: 503
    code, output = invoke(*options)
    assert code == 4
    assert f"{origin} answered 503, for 0 s: start it again when the receiver is there; nothing is lost\n" in output
    assert "delivered=0 dead_letters=0 requests=1\n" in output

    receiver.answer = lambda got: (301, {"location": "https://elsewhere.example/"})
    assert invoke(*options)[0] == 4

    receiver.answer = lambda got: (422, {}, b"no such field")
    code, output = invoke(*options, "--max-dead-letters", "2")
    assert code == 3
    assert "has 2 dead letters, and takes no more: " in output

    code, output = invoke(*options)
    assert code == 3
    assert "3 dead letters are in " in output
    assert "delivered=0 dead_letters=1 requests=1\n" in output
    with DeadLetters(Path("dead.jsonl"), "crm") as letters:
        assert {each.reason for each in letters.read()} == {"answered 422: no such field"}
    assert invoke(*options, "--replay")[0] == 3

    receiver.answer = lambda got: 204
    code, output = invoke(*options, "--replay")
    assert (code, output) == (0, "delivered=3 dead_letters=0 requests=3\n")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "give one of --to (or DMSJOURNAL_WEBHOOK_URL) and --files"),
        (["--to", "https://crm.example/", "--files", "out"], "give one of --to"),
        (["--to", "https://crm.example/"], "name a file for what the receiver will not take"),
        (["--files", "out", "--replay"], "files have no dead letters"),
        (["--files", "out", "--now", "--from-beginning"], "give one place to start at"),
    ],
)
def test_what_does_not_go_together(arguments: list[str], told: str) -> None:
    code, output = invoke(*arguments)
    assert code == 2
    assert told in " ".join(output.replace("│", " ").split())


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--to", "http://crm.example/"], "to = 'http://crm.example': http:// would show"),
        (["--to", "https://crm.example/", "--secret-file", "missing"], "--secret-file = 'missing': it cannot be read"),
        (["--to", "https://crm.example/", "--tries", "1", "--longest-wait", "0s"], "wait = "),
        (["--to", "https://crm.example/", "--timeout", "fast"], "timeout = 'fast'"),
        (["--files", "out", "--format", "xml"], "format = 'xml'"),
        (["--files", "out", "--max-age", "0s"], "above 0"),
    ],
)  # fmt: skip
def test_what_makes_no_sense(arguments: list[str], told: str) -> None:
    code, output = invoke("--dead-letters", "dead.jsonl", *arguments)
    assert code == 1
    assert told in output


def test_the_secret_is_not_taken_from_the_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DMSJOURNAL_WEBHOOK_SECRET")
    code, output = invoke("--to", "https://crm.example/", "--dead-letters", "dead.jsonl")
    assert code == 2
    assert "DMSJOURNAL_WEBHOOK_SECRET" in output
    assert "--secret " not in invoke("--help")[1]


def test_no_secret_is_shown(receiver: Receiver, journal: dj.Journal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of an address that has some, from the environment, and of the file; not where it fails either, nor in the dead letters."""
    write(journal, document(STUDENT, 1), document(STUDENT, 2))
    monkeypatch.delenv("DMSJOURNAL_WEBHOOK_SECRET")
    (tmp_path / "secret").write_text(f"{SECRET}\n")
    address = receiver.url.replace("127", "user:pass-word@127").replace("/hook", "/path-secret?key=query-secret")
    monkeypatch.setenv("DMSJOURNAL_WEBHOOK_URL", address)
    shown = ""
    for status in (422, 500, 503, 301, 204):
        receiver.answer = lambda got, status=status: (status, {}, str(got.headers).encode() + address.encode())
        shown += invoke("--secret-file", "secret", "--dead-letters", "dead.jsonl", *QUICK, "--once")[1]
    shown += Path("dead.jsonl").read_text()
    assert "answered 422" in shown
    for word in ["pass-word", "path-secret", "query-secret", "dXNlcjpwYXNzLXdvcmQ=", SECRET.removeprefix("whsec_")]:
        assert word not in shown


def test_a_full_disk_is_told(journal: dj.Journal, url: str, tmp_path: Path) -> None:
    write(journal, *(document(STUDENT, n) for n in range(1, 25)))
    limited = f"ulimit -f 4; exec {sys.executable} -m dmsjournal deliver --consumer crm --files out --once"
    done = subprocess.run(["bash", "-c", limited], capture_output=True, text=True)
    assert done.returncode == 75
    assert f"{tmp_path / 'out'} cannot be written to (File too large): make room" in done.stderr
    assert journal.consumers.get("crm").through == 0
    assert invoke("--files", "out", "--once") == (0, "written=24 files=1\n")


def test_help_does_not_need_httpx() -> None:
    code = "import sys; sys.modules['httpx'] = None; from dmsjournal.cli import app; app()"
    done = subprocess.run([sys.executable, "-c", code, "deliver", "--help"], capture_output=True, text=True, env=os.environ | {})
    assert done.returncode == 0
    code = code.replace("app()", "app(['deliver', '--consumer', 'c', '--to', 'https://a.example', '--dead-letters', 'd'])")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr == "webhooks need httpx: pip install 'dmsjournal[deliver]'\n"
