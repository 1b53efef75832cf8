"""Files of documents, loaded into a database: the whole Ed-Fi sample, and files that hold bad lines."""

import gzip
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from typer.testing import CliRunner

import dmsjournal as dj
from dmsjournal import cli
from dmsjournal.demo import story
from dmsjournal.write import load

ROOT = Path(__file__).parents[2]
SAMPLE = next((path for folder in Path(__file__).resolve().parents if (path := folder / story.SAMPLE).exists()), None)


def of(name: str) -> dj.ResourceKey:
    return dj.ResourceKey("Ed-Fi", name, "5.2.0")


STUDENT = of("Student")


def line(key: object, *refers_to: object, **changed: object) -> bytes:
    """A student's line; a reference is to another student's."""
    document: dict[str, Any] = {
        "projectName": "Ed-Fi",
        "resourceName": "Student",
        "resourceVersion": "5.2.0",
        "identity": {"studentUniqueId": key},
        "body": {"name": f"student {key}"},
        "references": [
            {"resourceName": "Student", "identity": {"studentUniqueId": other}, "identityComponent": False} for other in refers_to
        ],
    }
    return json.dumps(document | changed).encode() + b"\n"


def count(journal: dj.Journal, resource: dj.ResourceKey, window: dj.Window | None = None) -> int:
    return sum(1 for _ in journal.changes(resource, window, page_size=10_000))


def students(journal: dj.Journal) -> int:
    return count(journal, STUDENT) if STUDENT in journal.resources() else 0


def readme_counts(path: Path) -> dict[str, int]:
    """Documents by resource, of the README's last table; it leaves the descriptors out."""
    text = (path.parent / "README.md").read_text(encoding="utf-8").partition("## Documents per resource")[2]
    rows = re.findall(r"^\| (\w+) \| ([\d,]+) \| [\d,]+ \| \d+ \|", text, re.MULTILINE)
    return {name: int(number.replace(",", "")) for name, number in rows}


@pytest.mark.skipif(SAMPLE is None, reason="the Ed-Fi sample is not beside the checkout")
def test_the_whole_sample(journal: dj.Journal) -> None:
    assert SAMPLE is not None
    with load.opened(SAMPLE) as lines:
        report = load.load(journal, lines)
    assert (report.created, report.updated, report.unchanged, report.rejected) == (20_745, 0, 0, [])

    expected = readme_counts(SAMPLE)
    assert len(expected) == 96
    found = {resource.resource_name: count(journal, resource) for resource in journal.resources()}
    descriptors = {name: number for name, number in found.items() if name.endswith("Descriptor")}
    assert {name: number for name, number in found.items() if name not in descriptors} == expected
    assert (len(descriptors), sum(descriptors.values())) == (209, 3_322)

    newest = journal.versions().newest
    with load.opened(SAMPLE) as lines:
        report = load.load(journal, lines)
    assert (report.created, report.updated, report.unchanged, report.rejected) == (0, 0, 20_745, [])
    assert journal.versions().newest == newest

    with journal.write() as tx:
        assert tx.rekey(of("LearningStandardScopeDescriptor"), story.STATE, story.STATEWIDE) == 1
    window = dj.Window(newest + 1, journal.versions().newest)
    assert window == dj.Window(newest + 1, newest + 1)  # one stamp,
    assert count(journal, of("LearningStandard"), window) == 5_597  # and as many documents that changed with it


BAD = {
    "not JSON": (b"nonsense\n", "not JSON"),
    "cut short": (line(3)[:40] + b"\n", "not JSON"),
    "not an object": (b"[1]\n", "Expected `object`"),
    "a field missing": (line(3).replace(b'"body"', b'"Body"'), "field"),
    "a field too many": (line(3, colour="red"), "unknown field `colour`"),
    "a wrong type": (line(3, body=[]), "$.body"),
    "a bad uuid": (line(3, documentUuid="123"), "Invalid UUID"),
    "a NUL": (line(3, body={"a": "\0"}), "NUL"),
    "an unpaired surrogate": (line(3, body={"a": "\ud800"}), "unpaired surrogate"),
    "not UTF-8": (line("é").replace(rb"\u00e9", b"\xe9"), "not UTF-8"),
    "a name with quotes": (line(3, resourceName="Student';--"), "resource_name"),
    "no key": (line(3, identity={}), "key_values"),
    "an unknown document": (line(3, "nobody"), "which does not exist"),
    "an unknown resource": (line(3, "x").replace(b'"Student", "identity"', b'"Nothing", "identity"'), "does not exist"),
    "a uuid of another document": (line(3, documentUuid="00000000-0000-4000-8000-000000000001"), "another document has it"),
}


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_line_stops_everything_or_is_collected(journal: dj.Journal, kind: str) -> None:
    bad, reason = BAD[kind]
    file = [line(1, documentUuid="00000000-0000-4000-8000-000000000001"), b"\n", bad, line(4, 1)]
    with pytest.raises(load.BadLine, match=r"^line 3: ") as caught:
        load.load(journal, file)
    assert reason in str(caught.value)
    assert caught.value.__notes__ == ["nothing was loaded"]
    assert journal.resources() == {}  # and so no document of any

    report = load.load(journal, file, keep_going=True)
    assert (report.created, report.documents) == (2, 2)
    [rejected] = report.rejected
    assert (rejected.line_number, rejected.reason) == (3, caught.value.reason)
    assert rejected.text == bad.decode("utf-8", "backslashreplace").rstrip("\n")
    assert students(journal) == 2


def test_the_first_bad_line_is_named_whichever_check_finds_it(journal: dj.Journal) -> None:
    with pytest.raises(load.BadLine, match=r"^line 2: .* which does not exist"):
        load.load(journal, [line(1), line(2, "nobody"), b"nonsense"])
    report = load.load(journal, [line(1), b"nonsense", line(2, "nobody"), line(1), b"[]"], keep_going=True)
    assert [rejected.line_number for rejected in report.rejected] == [2, 3, 5]


def test_what_refers_to_a_rejected_document_is_rejected_too(journal: dj.Journal) -> None:
    report = load.load(journal, [line(1), line(2, colour="red"), line(3, 2), line(4, 1)], keep_going=True)
    assert [rejected.line_number for rejected in report.rejected] == [2, 3]
    assert students(journal) == 2


@pytest.mark.parametrize("every", [1, 2, 3, 7])
def test_a_transaction_each_n_lines(journal: dj.Journal, every: int) -> None:
    file = [line(number) for number in range(1, 7)]
    with pytest.raises(load.BadLine, match="line 7") as caught:
        load.load(journal, [*file, b"nonsense"], commit_every=every)
    kept = 6 // every * every
    assert students(journal) == kept
    assert caught.value.__notes__ == [f"the documents up to line {kept} are loaded" if kept else "nothing was loaded"]
    report = load.load(journal, file, commit_every=every)
    assert (report.created, report.unchanged) == (6 - kept, kept)


def test_less_than_one_line_a_transaction_is_refused(journal: dj.Journal) -> None:
    with pytest.raises(dj.InvalidRequest, match="commit_every = 0"):
        load.load(journal, [], commit_every=0)


def test_a_key_that_comes_twice_is_created_then_updated(journal: dj.Journal) -> None:
    report = load.load(journal, [line(1), line(1, body={"name": "another"}), line(1, body={"name": "another"})])
    assert (report.created, report.updated, report.unchanged) == (1, 1, 1)


def test_an_empty_file_is_no_documents(journal: dj.Journal) -> None:
    for empty in ([], [b"\n", b"  \r\n"], [b"\xef\xbb\xbf"]):
        report = load.load(journal, empty)
        assert (report.documents, report.rejected) == (0, [])


def test_lines_are_not_read_far_ahead_and_bad_ones_not_kept(journal: dj.Journal) -> None:
    read, done, ahead = 0, 0, 0

    def lines() -> Iterator[bytes]:
        nonlocal read, ahead
        for number in range(5_000):
            read += 1
            ahead = max(ahead, read - done)
            yield line(number) if number % 2 else b"nonsense\n"

    def progress(lines_done: int) -> None:
        nonlocal done
        done = lines_done

    handed: list[int] = []
    report = load.load(journal, lines(), keep_going=True, progress=progress, on_rejected=lambda bad: handed.append(bad.line_number))
    assert report.rejected == []
    assert handed == list(range(1, 5_000, 2))
    assert done == read == 5_000
    assert ahead <= 1_000


def test_what_cannot_be_read_to_its_end_is_not_loaded(journal: dj.Journal, tmp_path: Path) -> None:
    path = tmp_path / "documents.jsonl.gz"
    path.write_bytes(gzip.compress(b"".join(line(number) for number in range(1_500)))[:-12])
    with pytest.raises(dj.InvalidRequest, match="end too early"), load.opened(path) as lines:
        load.load(journal, lines, keep_going=True)
    assert students(journal) == 0


def test_numbers_are_stored_as_written(journal: dj.Journal, connections: list[sa.Connection]) -> None:
    text = line(1, body="BODY").replace(b'"BODY"', b'{"price": 7.20, "small": 1.0e-7, "long": 0.12345678901234567890}')
    load.load(journal, [text])
    text_type = {"postgresql": "text", "mssql": "nvarchar(max)"}[connections[0].dialect.name]
    stored = connections[0].exec_driver_sql(f"SELECT CAST(DocumentJson AS {text_type}) FROM dms.DocumentCache").scalar_one()
    assert '"price":7.20' in stored.replace(" ", "")
    assert '"long":0.12345678901234567890' in stored.replace(" ", "")


def invoke(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(cli.app, arguments)
    return result.exit_code, result.output


def test_the_command_counts(journal: dj.Journal, url: str, tmp_path: Path) -> None:
    path = tmp_path / "documents"
    path.write_bytes(gzip.compress(line(1) + line(2, 1)))
    code, output = invoke("load", str(path), "--url", url)
    assert code == 0
    assert output.startswith("created=2 updated=0 unchanged=0 rejected=0 seconds=")
    path.write_bytes(line(1) + line(2) + line(3))
    assert invoke("load", str(path), "--url", url)[1].startswith("created=1 updated=1 unchanged=1 rejected=0 ")
    assert list(tmp_path.iterdir()) == [path]


def test_the_command_stops_at_a_bad_line(journal: dj.Journal, url: str, tmp_path: Path) -> None:
    path = tmp_path / "documents"
    path.write_bytes(line(1) + b"nonsense\n" + line(2))
    code, output = invoke("load", str(path), "--url", url)
    assert code == 1
    assert re.fullmatch(r"line 2: it is not JSON: .*; nothing was loaded\n", output)
    assert students(journal) == 0
    assert list(tmp_path.iterdir()) == [path]


def test_the_command_keeps_going_and_writes_down_what_it_left(journal: dj.Journal, url: str, tmp_path: Path) -> None:
    path = tmp_path / "documents"
    path.write_bytes(line(1) + b"nonsense\n" + line(2, "nobody") + line(3))
    code, output = invoke("load", str(path), "--url", url, "--keep-going")
    assert code == 1
    assert output.startswith("created=2 updated=0 unchanged=0 rejected=2 ")
    assert "line 2: it is not JSON" in output
    rejects = tmp_path / "documents.rejects.jsonl"
    assert str(rejects) in output
    first, second = map(json.loads, rejects.read_text().splitlines())
    assert (first["line_number"], first["text"], "not JSON" in first["reason"]) == (2, "nonsense", True)
    assert (second["line_number"], second["text"], "nobody" in second["reason"]) == (3, line(2, "nobody").decode().strip(), True)

    other = tmp_path / "other"
    assert invoke("load", str(path), "--url", url, "--keep-going", "--rejects", str(other))[0] == 1
    assert len(other.read_text().splitlines()) == 2


def test_rejects_that_cannot_be_written_stop_the_load(journal: dj.Journal, url: str, tmp_path: Path) -> None:
    path = tmp_path / "documents"
    path.write_bytes(line(1) + b"nonsense\n")
    code, output = invoke("load", str(path), "--url", url, "--keep-going", "--rejects", str(tmp_path / "no" / "folder"))
    assert code == 1
    assert "--rejects = " in output
    assert students(journal) == 0


@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_standard_input(journal: dj.Journal, url: str, compress: Any) -> None:
    command = [sys.executable, "-m", "dmsjournal", "load", "-"]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "DMSJOURNAL_URL": url}
    done = subprocess.run(command, input=compress(line(1) + line(2)), capture_output=True, env=environment, timeout=120)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.startswith(b"created=2 ")
    assert students(journal) == 2


def test_the_demo_tells_its_story_and_leaves_the_database_empty(
    postgres_server: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from dmsjournal.demo import district

    sample = tmp_path / "district.jsonl"
    sample.write_text("".join(json.dumps(document) + "\n" for document in district.generate(30)))
    monkeypatch.setenv("DMSJOURNAL_SAMPLE", str(sample))
    with postgres_server.fresh_database() as url:
        for _ in range(2):
            assert story.run(url, spark=False)
        told = capsys.readouterr().out
        assert told.count("They agree") == told.count("SQL finds 10 orders of Ada Lovelace, the same") == 2
        assert " ".join(told.split()).count("order 10 0 10 1") == 2  # ten orders changed, nobody wrote them, one is deleted
        assert sa.make_url(url).password not in told
        assert story.run(url, spark=False, keep=True)
        with pytest.raises(dj.InvalidRequest, match="name an empty database"):
            story.run(url, spark=False)
        with dj.connect(url) as kept:
            assert kept.versions().newest > 0
