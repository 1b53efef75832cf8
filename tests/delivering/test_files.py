"""Rotating files: what ends in .jsonl is whole, in the feed's order, and never changes."""

import io
import json
import os
import shutil
from pathlib import Path

import pytest

import dmsjournal as dj
from dmsjournal.deliver.files import RotatingFiles
from dmsjournal.deliver.formats import format_of
from dmsjournal.events import jsonl
from dmsjournal.events.jsonl import FeedRecord
from tests.delivering.events import event, full_disk

JSONL = format_of("jsonl")
LENGTH = len(jsonl.line(event(1)))


def finished(folder: Path) -> list[list[int]]:
    """The versions in each finished file, by name."""
    return [[each.change_version for each in jsonl.read(path.open("rb"))] for path in sorted(folder.glob("*.jsonl"))]


def test_events_are_on_the_disk_when_take_returns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    fsync = os.fsync
    monkeypatch.setattr(os, "fsync", lambda file: (synced.append(os.fstat(file).st_size), fsync(file))[1])
    with RotatingFiles(tmp_path / "out", JSONL) as files:
        files.take([event(1), event(2)])
        assert synced[-1] == 2 * LENGTH
        [path] = (tmp_path / "out").glob("*.open")
        assert [each.change_version for each in jsonl.read(io.BytesIO(path.read_bytes()))] == [1, 2]
        assert finished(tmp_path / "out") == []
        count = len(synced)
        files.take([])
        assert len(synced) == count
    assert finished(tmp_path / "out") == [[1, 2]]
    assert files.counts() == {"written": 2, "files": 1}


def test_a_file_is_finished_before_it_is_too_large(tmp_path: Path) -> None:
    with RotatingFiles(tmp_path, JSONL, max_bytes=3 * LENGTH) as files:
        files.take([event(n) for n in range(1, 5)])
        assert finished(tmp_path) == [[1, 2, 3]]
        files.take([event(5), event(6)])
        files.take([event(7, studentName="long" * LENGTH), event(8)])
        assert finished(tmp_path) == [[1, 2, 3], [4, 5, 6], [7]]
    assert finished(tmp_path) == [[1, 2, 3], [4, 5, 6], [7], [8]]
    names = sorted(path.name for path in tmp_path.glob("*.jsonl"))
    assert [name.partition("-")[0] for name in names] == [f"{n:019}" for n in (1, 4, 7, 8)]


def test_a_file_is_finished_when_it_is_old_also_where_nothing_comes(tmp_path: Path) -> None:
    now = 0.0
    with RotatingFiles(tmp_path, JSONL, max_age=60, clock=lambda: now) as files:
        files.take([event(1)])
        now = 59
        files.take([event(2)])
        assert finished(tmp_path) == []
        now = 60
        files.take([])
        assert finished(tmp_path) == [[1, 2]]
        now = 200
        files.take([event(3)])
        assert finished(tmp_path) == [[1, 2]]
        assert [path.name for path in tmp_path.glob("*.open")] != []


def test_nothing_makes_no_file(tmp_path: Path) -> None:
    with RotatingFiles(tmp_path / "a" / "b", JSONL) as files:
        files.take([])
    assert list(tmp_path.rglob("*.jsonl*")) == []


@pytest.mark.parametrize("torn", [b"", b"{", jsonl.line(event(9))[:-1]], ids=["nothing", "a character", "all but its end"])
def test_what_a_killed_process_left_open_is_finished_without_its_torn_line(tmp_path: Path, torn: bytes) -> None:
    with RotatingFiles(tmp_path / "alive", JSONL, max_bytes=3 * LENGTH) as files:
        files.take([event(n) for n in range(1, 6)])
        folder = shutil.copytree(tmp_path / "alive", tmp_path / "dead")
    [left] = folder.glob("*.open")
    left.write_bytes(left.read_bytes() + torn)
    before = {path.name: path.read_bytes() for path in folder.glob("*.jsonl")}
    with RotatingFiles(folder, JSONL) as files:
        assert finished(folder) == [[1, 2, 3], [4, 5]]
        assert {name: (folder / name).read_bytes() for name in before} == before
        files.take([event(4), event(5), event(6)])
    assert finished(folder) == [[1, 2, 3], [4, 5], [4, 5, 6]]
    assert list(folder.glob("*.open")) == []


def test_a_file_that_holds_nothing_but_a_torn_line_goes(tmp_path: Path) -> None:
    left = tmp_path / f"{1:019}-20261128T150000000000Z.jsonl.open"
    left.write_bytes(b'{"half')
    with RotatingFiles(tmp_path, JSONL):
        pass
    assert list(tmp_path.glob("*.jsonl*")) == []


def test_one_process_at_a_time(tmp_path: Path) -> None:
    works = pytest.raises(dj.Unavailable, match=r"another run .* works on")
    with RotatingFiles(tmp_path, JSONL), works, RotatingFiles(tmp_path, JSONL):
        pass
    with RotatingFiles(tmp_path, JSONL):
        pass


@pytest.mark.parametrize("before", [[], [event(1)]])
def test_a_full_disk_leaves_whole_files(tmp_path: Path, before: list[FeedRecord]) -> None:
    def write() -> None:
        with RotatingFiles(tmp_path, JSONL) as files:
            files.take(before)
            with full_disk(int(2.5 * LENGTH)):
                files.take([event(2), event(3), event(4)])

    with pytest.raises(dj.Unavailable) as raised:
        write()
    told = f"{tmp_path} cannot be written to (File too large): make room, then start it again: nothing is lost"
    assert str(raised.value) == told
    assert finished(tmp_path) == ([[1]] if before else [])
    assert list(tmp_path.glob("*.open")) == []


def test_a_folder_that_cannot_be_one(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(dj.InvalidRequest, match="there is a file of that name"), RotatingFiles(tmp_path / "file", JSONL):
        pass


@pytest.mark.parametrize("options", [{"max_bytes": 0}, {"max_age": 0.0}])
def test_bounds(tmp_path: Path, options: dict[str, float]) -> None:
    with pytest.raises(dj.InvalidRequest, match="above 0"):
        RotatingFiles(tmp_path, JSONL, **options)


@pytest.mark.parametrize(("name", "identifier"), [("jsonl", "event_id"), ("cdc", "event_id"), ("cloudevents", "id")])
def test_formats(name: str, identifier: str) -> None:
    """One line an event, whose id is the one that a request has."""
    format_ = format_of(name, instance="primary-1")
    one, two = event(1, studentName="a\nb\u2028"), event(2)
    assert b"\n" not in format_.encode(one)
    assert json.loads(format_.encode(one))[identifier] == format_.id_of(one)
    assert [each[identifier] for each in json.loads(format_.array([one, two]))] == [format_.id_of(one), format_.id_of(two)]
    assert format_.id_of_array([one]) == format_.id_of(one)
    assert format_.id_of_array([one, two]) == format_.id_of_array([one, two]) != format_.id_of_array([two, one])


def test_a_format_that_is_none() -> None:
    with pytest.raises(dj.InvalidRequest, match="jsonl, cdc, cloudevents"):
        format_of("xml")
