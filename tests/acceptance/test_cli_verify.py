"""The command verify: what it prints, and by which exit code a cron job can tell."""

import json

import pytest
from typer.testing import CliRunner

import dmsjournal as dj
from dmsjournal import cli
from dmsjournal.operate.findings import MEANINGS
from tests.consumer import past_triggers
from tests.helpers import PLAN, STUDENT, commit, document, write

UNSTAMPED = "UPDATE dms.Document SET ContentVersion = 0 WHERE DocumentId = 2"


@pytest.fixture(autouse=True)
def named(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DMSJOURNAL_URL", url)


@pytest.fixture
def written(journal: dj.Journal) -> dj.Journal:
    student = document(STUDENT, 1)
    write(journal, student, document(PLAN, 1, student))
    return journal


def invoke(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(cli.app, ["verify", *arguments])
    return result.exit_code, result.output


@pytest.mark.acceptance("59")
def test_a_clean_journal_ends_with_0_one_with_findings_with_3_and_a_repaired_one_with_0(written: dj.Journal, connections) -> None:
    assert invoke() == (0, "findings=0 left=0 documents=2 edges=1 events=2 tombstones=0\n")
    past_triggers(connections[0], UNSTAMPED)
    code, output = invoke()
    meaning = MEANINGS["document-unstamped"]
    line, counts = output.splitlines()
    assert code == 3
    assert line == f"document-unstamped\t1\t2\t{meaning.meaning} Remedy: {meaning.remedy}."
    assert counts.startswith("findings=1 left=1 ")
    code, output = invoke("--repair")
    assert (code, output.splitlines()[0]) == (0, line)
    assert output.splitlines()[1].startswith("findings=1 left=0 ")
    assert invoke()[0] == 0


def test_what_cannot_be_repaired_ends_with_3(written: dj.Journal, connections) -> None:
    commit(connections[0], "INSERT INTO dms.ChangeConsumer (Name, ChangeVersion, DocumentId) VALUES ('late', 1000, 0)")
    code, output = invoke("--repair")
    assert code == 3
    assert output.splitlines()[-1].endswith(" not_repaired=consumer-ahead")


def test_a_repair_names_the_journals_that_it_had_to_expire(written: dj.Journal, connections) -> None:
    past_triggers(connections[0], "DELETE FROM dms.JournalFloor WHERE Journal IN ('DocumentDeleteEvent', 'KeyChangeEvent')")
    code, output = invoke("--repair")
    assert code == 0
    assert output.splitlines()[-1].endswith(" tombstones=0 expired=DocumentDeleteEvent,KeyChangeEvent")
    past_triggers(connections[0], "DELETE FROM dms.JournalFloor WHERE Journal = 'KeyChangeEvent'")
    assert json.loads(invoke("--json", "--repair")[1])["expired"] == ["KeyChangeEvent"]
    assert " expired=" not in invoke("--repair")[1]


def test_json_is_the_value_that_python_gives(written: dj.Journal, connections) -> None:
    past_triggers(connections[0], UNSTAMPED)
    code, output = invoke("--json")
    [finding] = json.loads(output)["findings"]
    assert code == 3
    assert (finding["code"], finding["count"], finding["objects"]) == ("document-unstamped", 1, [2])
    assert finding["is_repaired"] is True
    assert json.loads(invoke("--json", "--sample", "0.5")[1])["sample"] == 0.5
    code, output = invoke("--json", "--repair")
    assert code == 0
    assert [json.loads(output)[part]["findings"] == [] for part in ("found", "left")] == [False, True]


def test_many_objects_are_cut_in_a_line(written: dj.Journal, connections) -> None:
    write(written, *(document(STUDENT, n) for n in range(2, 20)))
    past_triggers(connections[0], "UPDATE dms.Document SET ContentVersion = 0")
    assert invoke()[1].splitlines()[0].split("\t")[1:3] == ["20", "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, …"]


def test_bad_usage(written: dj.Journal) -> None:
    assert invoke("--repair", "--sample", "0.5")[0] == 2
    code, output = invoke("--sample", "2")
    assert (code, output.startswith("--sample = 2.0: ")) == (1, True)
