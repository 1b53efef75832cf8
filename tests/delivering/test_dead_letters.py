"""The file of dead letters: on the disk before anybody goes on, whole after a crash, one consumer's, never too long."""

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

import dmsjournal as dj
from dmsjournal.deliver.dead_letters import DeadLetter, DeadLetters, cut_torn_line
from dmsjournal.events.jsonl import FeedRecord
from tests.delivering.events import event, full_disk


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "crm.dead.jsonl"


def letter(of: FeedRecord, consumer: str = "crm", reason: str = "answered 500") -> DeadLetter:
    return DeadLetter(of.event_id, consumer, "https://crm.example", reason, 3, datetime(2026, 11, 28, tzinfo=UTC), of)


def ids(path: Path) -> list[str]:
    with DeadLetters(path, "crm") as letters:
        return [str(each.event_id) for each in letters.read()]


def test_letters_are_kept_in_their_order_and_exact(path: Path) -> None:
    first, second = event(1, studentName="Ü\n", weight=10**30), event(2, 2)
    with DeadLetters(path, "crm") as letters:
        assert (len(letters), letters.read(), letters.ahead_of(first)) == (0, [], None)
        letters.add([letter(first)])
        letters.add([letter(second)])
    with DeadLetters(path, "crm") as letters:
        assert letters.read() == [letter(first), letter(second)]
        assert letters.ahead_of(event(9, 1)) == first.event_id
        assert letters.ahead_of(event(9, 3)) is None
        letters.keep([letter(second)])
        assert letters.ahead_of(event(9, 1)) is None
    assert ids(path) == [str(second.event_id)]
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_letter_that_is_there_is_not_added_again(path: Path) -> None:
    for _ in range(2):
        with DeadLetters(path, "crm") as letters:
            letters.add([letter(event(1)), letter(event(2))])
            letters.add([letter(event(1)), letter(event(3))])
    assert len(path.read_bytes().splitlines()) == 3


def test_they_are_on_the_disk_when_add_returns(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    write, fsync = os.write, os.fsync
    monkeypatch.setattr(os, "write", lambda file, text: (done.append("write"), write(file, text))[1])
    monkeypatch.setattr(os, "fsync", lambda file: (done.append("fsync"), fsync(file))[1])
    with DeadLetters(path, "crm") as letters:
        done.clear()
        letters.add([letter(event(1))])
        assert done == ["write", "fsync", "fsync"]  # the file, and its name in the folder
        letters.add([letter(event(2))])
        assert done[3:] == ["write", "fsync"]


@pytest.mark.parametrize("length", [1, 20, -1])
def test_a_torn_last_line_is_cut_off(path: Path, length: int) -> None:
    with DeadLetters(path, "crm") as letters:
        letters.add([letter(event(1))])
        whole = path.read_bytes()
        letters.add([letter(event(2))])
    torn = path.read_bytes()[len(whole) :].rstrip(b"\n")
    path.write_bytes(whole + torn[:length])
    assert ids(path) == [str(event(1).event_id)]
    assert path.read_bytes() == whole


def test_a_last_line_that_an_editor_has_left_without_its_end_stays(path: Path) -> None:
    with DeadLetters(path, "crm") as letters:
        letters.add([letter(event(1)), letter(event(2))])
    text = path.read_bytes()
    path.write_bytes(text.rstrip(b"\n"))
    assert ids(path) == [str(event(1).event_id), str(event(2).event_id)]
    assert path.read_bytes() == text


def test_a_damaged_line_is_named(path: Path) -> None:
    with DeadLetters(path, "crm") as letters:
        letters.add([letter(event(1)), letter(event(2))])
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + b'{"event_id": 7}\n' + lines[1])
    with pytest.raises(dj.InvalidRequest, match=r"crm\.dead\.jsonl:2.*no dead letter"), DeadLetters(path, "crm"):
        pass


def test_a_path_that_can_be_no_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    refused = pytest.raises(dj.InvalidRequest, match=r"dead_letters = .*folder.*Is a directory")
    with refused, DeadLetters(tmp_path / "folder", "crm"):
        pass
    with DeadLetters(tmp_path / "good.jsonl", "crm"):
        pass  # and no lock is left over of the one before


def test_another_consumers_file_is_refused(path: Path) -> None:
    with DeadLetters(path, "crm") as letters:
        letters.add([letter(event(1))])
    with pytest.raises(dj.InvalidRequest, match="it is of consumer crm"), DeadLetters(path, "index"):
        pass


def test_one_process_at_a_time(path: Path) -> None:
    with DeadLetters(path, "crm"), pytest.raises(dj.Unavailable, match=r"another run .* works on"), DeadLetters(path, "crm"):
        pass
    with DeadLetters(path, "crm"):
        pass


def test_it_holds_so_many(path: Path) -> None:
    with DeadLetters(path, "crm", most=2) as letters:
        letters.add([letter(event(1))])
        with pytest.raises(dj.DeadLettersFull, match="has 1 dead letters"):
            letters.add([letter(event(2)), letter(event(3))])
        letters.add([letter(event(1)), letter(event(2))])
        assert len(letters) == 2


def test_a_full_disk_leaves_whole_lines(path: Path) -> None:
    with DeadLetters(path, "crm") as letters:
        letters.add([letter(event(1))])
        text = path.read_bytes()
        with full_disk(len(text) + 100), pytest.raises(dj.Unavailable) as raised:
            letters.add([letter(event(2))])
        assert (len(letters), path.read_bytes()) == (1, text)
    told = f"the dead letters cannot be written to {path} (File too large): make room, then start it again: nothing is lost"
    assert str(raised.value) == told


@pytest.mark.parametrize("block", [1, 2, 3, 7, 64])
def test_cutting(tmp_path: Path, block: int) -> None:
    for text, left in {
        b"": b"",
        b"a": b"",
        b"a\n": b"a\n",
        b"a\nbcd": b"a\n",
        b"\n\nb": b"\n\n",
        b"abcdefgh\nij": b"abcdefgh\n",
    }.items():
        (tmp_path / "file").write_bytes(text)
        assert cut_torn_line(tmp_path / "file", block) == len(text) - len(left)
        assert (tmp_path / "file").read_bytes() == left
    assert cut_torn_line(tmp_path / "missing") == 0
