"""Files that hold keys, bodies, places or secrets are their owner's alone, and never a way into somebody else's file."""

import logging
import os
import stat
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

import dmsjournal as dj
from dmsjournal.cli.load import _Rejects
from dmsjournal.deliver.dead_letters import DeadLetters
from dmsjournal.deliver.files import RotatingFiles
from dmsjournal.deliver.formats import format_of_database
from dmsjournal.events import notifications
from dmsjournal.http.security import new_token, read_token_file
from dmsjournal.util.files import locked, private, warn_if_readable, write_whole
from dmsjournal.write.load import Rejected


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture(autouse=True)
def _generous() -> object:
    before = os.umask(0)
    yield
    os.umask(before)


def add_dead_letter(path: Path) -> None:
    with DeadLetters(path, "crm") as letters:
        letters._append(b"")


def add_reject(path: Path) -> None:
    with _Rejects(path) as rejects:
        rejects.write(Rejected(1, "{}", "it is no document"))


def keep_token(path: Path) -> None:
    dj.FileCheckpoint(path).save("token")


APPENDED = {"dead letters": add_dead_letter, "rejects": add_reject}
REPLACED = {"checkpoint": keep_token, "manifest": lambda path: write_whole(path, b"{}")}


@pytest.mark.parametrize("write", (APPENDED | REPLACED).values(), ids=(APPENDED | REPLACED).keys())
def test_a_file_is_its_owners_alone_new_or_not(tmp_path: Path, write: Callable[[Path], None]) -> None:
    write(tmp_path / "new")
    assert mode_of(tmp_path / "new") == 0o600
    (tmp_path / "old").touch()
    (tmp_path / "old").chmod(0o666)
    write(tmp_path / "old")
    assert mode_of(tmp_path / "old") == 0o600


@pytest.mark.parametrize("write", APPENDED.values(), ids=APPENDED.keys())
@pytest.mark.parametrize("is_there", [True, False])
def test_what_is_added_to_never_follows_a_link(tmp_path: Path, write: Callable[[Path], None], is_there: bool) -> None:
    victim = tmp_path / "victim"
    if is_there:
        victim.write_text("kept")
    (tmp_path / "link").symlink_to(victim)
    with pytest.raises((dj.InvalidRequest, dj.Unavailable)):
        write(tmp_path / "link")
    assert victim.exists() == is_there
    assert not is_there or victim.read_text() == "kept"


@pytest.mark.parametrize("write", REPLACED.values(), ids=REPLACED.keys())
def test_what_is_replaced_takes_a_links_place(tmp_path: Path, write: Callable[[Path], None]) -> None:
    victim = tmp_path / "victim"
    victim.write_text("kept")
    (tmp_path / "link").symlink_to(victim)
    write(tmp_path / "link")
    assert victim.read_text() == "kept"
    assert not (tmp_path / "link").is_symlink()


def test_delivered_files_and_locks_are_their_owners_alone(tmp_path: Path) -> None:
    left = tmp_path / "0000000000000000001-x.jsonl.open"
    left.write_text('{"a": 1}\n{"torn')
    left.chmod(0o644)
    with RotatingFiles(tmp_path, format_of_database("jsonl", "postgresql://h/d")):
        assert mode_of(tmp_path / "_lock") == 0o600
    [found] = tmp_path.glob("*.jsonl")
    assert (found.read_text(), mode_of(found)) == ('{"a": 1}\n', 0o600)


def test_a_planted_link_is_no_lock_and_no_file_to_cut(tmp_path: Path) -> None:
    victim, folder = tmp_path / "victim", tmp_path / "shared"
    victim.write_text("one line\nand a rest")
    folder.mkdir()
    (folder / "x.jsonl.open").symlink_to(victim)
    with pytest.raises(dj.Unavailable), RotatingFiles(folder, format_of_database("jsonl", "postgresql://h/d")):
        pass
    (folder / "_lock").unlink(missing_ok=True)
    (folder / "_lock").symlink_to(victim)
    with pytest.raises(dj.InvalidRequest), locked(folder):
        pass
    assert victim.read_text() == "one line\nand a rest"


def test_a_ring_is_its_owners_alone_and_no_link(tmp_path: Path) -> None:
    notifications.create(tmp_path / "ring")
    assert mode_of(tmp_path / "ring") == 0o600
    (tmp_path / "link").symlink_to(tmp_path / "ring")
    with pytest.raises(dj.InvalidRequest):
        notifications._mapped(tmp_path / "link")


def test_a_pipe_or_another_users_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="No such device"):
        private(tmp_path / "pipe", os.O_WRONLY)
    (tmp_path / "file").touch()
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    with pytest.raises(OSError, match="another user"):
        private(tmp_path / "file", os.O_WRONLY)
    os.close(private("/dev/null", os.O_WRONLY))


@pytest.mark.parametrize(("mode", "who"), [(0o644, "everybody"), (0o640, "its group"), (0o600, None), (0o400, None)])
def test_a_secret_that_others_can_read_is_warned_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, mode: int, who: str | None
) -> None:
    path = tmp_path / "tokens.json"
    path.write_bytes(b"[" + msgspec.json.encode(new_token("x")[1]) + b"]")
    path.chmod(mode)
    with caplog.at_level(logging.WARNING):
        warn_if_readable(path, "the secret")
        read_token_file(path)
    told = [record.getMessage() for record in caplog.records]
    assert len(told) == (0 if who is None else 2)
    assert all(f"can be read by {who}" in message and "chmod 600" in message for message in told)
