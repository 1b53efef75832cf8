"""A database that was restored to an earlier state, beside what was delivered from it: it delivers no more (acceptance 97)."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import sqlalchemy as sa

import dmsjournal as dj
from dmsjournal.deliver.dead_letters import DeadLetters
from dmsjournal.deliver.files import RotatingFiles
from dmsjournal.deliver.formats import format_of
from dmsjournal.deliver.receivers import Receiver as Receiving
from dmsjournal.deliver.retries import Retries
from dmsjournal.deliver.runner import Delivery, replay_dead_letters
from dmsjournal.deliver.signatures import Signer
from dmsjournal.deliver.targets import Target
from dmsjournal.deliver.webhooks import Webhook
from tests.delivering.receiver import SECRET, Receiver, receiving
from tests.helpers import STUDENT, document, newest, write


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


@pytest.fixture(params=["files", "webhook"])
def target(request: pytest.FixtureRequest, receiver: Receiver, tmp_path: Path) -> Callable[[], Target]:
    """Makes the target of a run: the same folder, or the same receiver with the same file of dead letters."""

    def made() -> Target:
        if request.param == "files":
            return RotatingFiles(tmp_path / "out", format_of("jsonl"))
        retries = Retries(tries=1, shortest=0.001, longest=0.002, patience=0.0)
        letters = DeadLetters(tmp_path / "dead.jsonl", "lake")
        return Receiving(Webhook(receiver.url, Signer([SECRET]), timeout=5), letters, format_of("jsonl"), retries)

    return made


def deliver(journal: dj.Journal, target: Target, size: int = 3) -> None:
    Delivery(journal, "lake", target, dj.FeedRequest(max_page_size=size), follow=False).run()


def delivered(receiver: Receiver, folder: Path) -> list[str]:
    return [*receiver.ids(), *(path.name for path in sorted(folder.glob("out/*.jsonl")))]


@contextmanager
def copied(url: str) -> Iterator[str]:
    """The database as it is now, under another name: as a backup of this moment is restored later."""
    server = sa.make_url(url)
    admin = sa.create_engine(server.set(database="postgres"), isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    copy = f"{server.database}_restored"
    with admin.connect() as conn:
        conn.exec_driver_sql(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{server.database}'")
        conn.exec_driver_sql(f"CREATE DATABASE {copy} TEMPLATE {server.database}")
        try:
            yield server.set(database=copy).render_as_string(hide_password=False)
        finally:
            conn.exec_driver_sql(f"DROP DATABASE {copy} WITH (FORCE)")


@pytest.mark.acceptance("97")
@pytest.mark.parametrize("written", [0, 1, 4, 9])  # since the restore: less than was lost, as much, and more
def test_a_delivery_from_a_restored_database_is_refused(
    journal: dj.Journal, url: str, target: Callable[[], Target], receiver: Receiver, tmp_path: Path, written: int
) -> None:
    """The consumer went back with the database, so its place fits: what was delivered must remember."""
    write(journal, *(document(STUDENT, number) for number in range(3)))
    deliver(journal, target())
    with copied(url) as restored:
        write(journal, *(document(STUDENT, number) for number in range(3, 7)))
        deliver(journal, target())
        before = delivered(receiver, tmp_path)
        with dj.connect(restored) as after:
            if written:
                write(after, *(document(STUDENT, number) for number in range(100, 100 + written)))
            place = after.consumers.get("lake")
            with pytest.raises(dj.HistoryDiverged) as refused:
                deliver(after, target())
            assert refused.value.checkpoint == 7
            assert "docs/dba/restore.md has the steps" in refused.value.__notes__[0]
            assert after.consumers.get("lake") == place
        assert delivered(receiver, tmp_path) == before
    deliver(journal, target())  # from the database that it was delivered from it goes on


@pytest.mark.acceptance("97")
def test_a_page_that_was_cut_off_is_remembered(
    journal: dj.Journal, url: str, target: Callable[[], Target], receiver: Receiver, tmp_path: Path, monkeypatch
) -> None:
    """The crash comes when a page was handed over and its place not yet saved: the events are there, and are remembered."""
    write(journal, *(document(STUDENT, number) for number in range(3)))
    deliver(journal, target())
    with copied(url) as restored:
        write(journal, *(document(STUDENT, number) for number in range(3, 7)))

        def crash(self: Delivery, hold: object) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as patched:
            patched.setattr(Delivery, "_save", crash)
            with pytest.raises(KeyboardInterrupt):
                deliver(journal, target())
        with dj.connect(restored) as after, pytest.raises(dj.HistoryDiverged):
            deliver(after, target())
    deliver(journal, target())
    assert journal.consumers.get("lake").through == newest(journal)


@pytest.mark.acceptance("97")
def test_dead_letters_of_another_history_are_not_sent(journal: dj.Journal, url: str, receiver: Receiver, tmp_path: Path) -> None:
    retries = Retries(tries=1, shortest=0.001, longest=0.002, patience=0.0)

    def target() -> Receiving:
        letters = DeadLetters(tmp_path / "dead.jsonl", "lake")
        return Receiving(Webhook(receiver.url, Signer([SECRET]), timeout=5), letters, format_of("jsonl"), retries)

    with copied(url) as restored:
        write(journal, document(STUDENT, 1))
        receiver.answer = lambda got: 422
        deliver(journal, target())
        sent = len(receiver.got)
        with dj.connect(restored) as after, pytest.raises(dj.HistoryDiverged):
            replay_dead_letters(after, "lake", target())
        assert len(receiver.got) == sent


def test_a_memory_that_is_no_token_is_refused(journal: dj.Journal, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "_history").write_text("nonsense")
    with pytest.raises(dj.InvalidRequest, match="_history"):
        deliver(journal, RotatingFiles(tmp_path / "out", format_of("jsonl")))
