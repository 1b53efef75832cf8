"""The registry of event formats: a format is one file, and each way out accepts it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

import dmsjournal as dj
from dmsjournal import cli
from dmsjournal.deliver.formats import format_of
from dmsjournal.events import formats
from dmsjournal.http.settings import Settings
from tests.delivering.events import event
from tests.helpers import STUDENT, document, write
from tests.http.conftest import in_process

TOY = """
from dmsjournal.events.formats import Format

FORMAT = Format(
    from_feed=lambda event: b'{"toy":%d}' % event.change_version,
    id_of=lambda event: str(event.change_version),
    content_type="application/toy",
)
"""


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on the registry's search path, with one file of a format."""
    folder = tmp_path / "more"
    folder.mkdir()
    (folder / "toy.py").write_text(TOY, encoding="utf-8")
    monkeypatch.setattr(formats, "__path__", [*formats.__path__, str(folder)])
    yield folder
    sys.modules.pop(f"{formats.__name__}.toy", None)
    vars(formats).pop("toy", None)


def test_each_way_out_accepts_a_new_file(journal: dj.Journal, url: str, toy: Path, tmp_path: Path) -> None:
    write(journal, document(STUDENT, 1), document(STUDENT, 2))
    run = CliRunner()
    fed = run.invoke(cli.app, ["feed", "--url", url, "--format", "toy"])
    assert (fed.exit_code, fed.stdout.splitlines()) == (0, ['{"toy":1}', '{"toy":2}'])
    files = tmp_path / "files"
    delivered = run.invoke(
        cli.app, ["deliver", "--url", url, "--consumer", "crm", "--files", str(files), "--format", "toy", "--once"]
    )
    assert delivered.exit_code == 0, delivered.output
    assert [file.read_text() for file in files.glob("*.jsonl")] == ['{"toy":1}\n{"toy":2}\n']
    assert format_of("toy").format.content_type == "application/toy"
    with in_process(Settings(url, rate=0, port=0)) as client:
        assert client.get("/feed", params={"format": "toy"}).json()["events"] == [{"toy": 1}, {"toy": 2}]


def test_help_and_refusals_name_a_new_file(toy: Path) -> None:
    assert formats.names() == ["jsonl", "cdc", "cloudevents", "debezium", "toy"]
    with pytest.raises(dj.InvalidRequest, match="jsonl, cdc, cloudevents, debezium, toy"):
        formats.load("xml")
    script = f"from dmsjournal.events import formats; formats.__path__.append({str(toy)!r}); from dmsjournal.cli import app; app()"
    for command in ("feed", "deliver"):
        done = subprocess.run([sys.executable, "-c", script, command, "--help"], capture_output=True, text=True, check=True)
        assert "toy" in done.stdout


def test_names_need_no_extra() -> None:
    script = "import sys; from dmsjournal.events import formats; print(*formats.names()); print('pydantic' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "jsonl cdc cloudevents debezium\nFalse\n"


def test_a_format_whose_extra_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dmsjournal.events.cdc", None)
    with pytest.raises(dj.UnsupportedCapability, match=r"format cdc needs .*: pip install 'dmsjournal\[events\]'"):
        formats.load("cdc")
    assert json.loads(format_of("jsonl").encode(event(1)))["change_version"] == 1


@pytest.mark.parametrize("name", formats.names())
def test_the_id_is_in_the_json(name: str) -> None:
    """Formats made of CDC events too: a receiver compares the request's id with the one that it reads."""
    format_, one = format_of(name), event(1, studentName="a\nb\u2028")
    assert b"\n" not in format_.encode(one)
    assert json.dumps(format_.id_of(one)).encode() in format_.encode(one)


def test_a_format_has_one_writer() -> None:
    with pytest.raises(TypeError, match="exactly one"):
        formats.Format(id_of=lambda event: str(event.event_id))
