"""The commands that read: the same rows as the Python API, for people, for programs, and for JavaScript."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
import sqlalchemy as sa
from typer.testing import CliRunner

import dmsjournal as dj
from dmsjournal import cli

ROOT = Path(__file__).parents[2]
BIG = 2**53  # above it JavaScript rounds: BIG + 1 reads as BIG

STUDENT = dj.ResourceKey("Ed-Fi", "Student", "5.2.0")
READERS = ["changes", "deletes", "key-changes"]
NUMBERS = ["change_version", "document_id"]


@pytest.fixture
def history(journal: dj.Journal, connections: list[sa.Connection]) -> dj.Journal:
    """Students above 2^53: three are written, one gets another key, one is deleted; and two resources of one name."""
    with connections[0].begin():
        connections[0].exec_driver_sql(f"SELECT setval('dms.ChangeVersionSequence', {BIG})")
    with journal.write() as tx:
        for number in range(3):
            tx.upsert(dj.Document(STUDENT, {"studentUniqueId": f"n\té{number}"}))
        tx.rekey(STUDENT, {"studentUniqueId": "n\té1"}, {"studentUniqueId": "renamed"})
        tx.delete(STUDENT, {"studentUniqueId": "n\té2"})
        tx.upsert(dj.Document(dj.ResourceKey("Ed-Fi", "School", "5.2.0"), {"schoolId": 1}))
        tx.upsert(dj.Document(dj.ResourceKey("TPDM", "School", "1.0"), {"schoolId": 1}))
    return journal


@pytest.fixture(autouse=True)
def named(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DMSJOURNAL_URL", url)


def invoke(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(cli.app, arguments)
    return result.exit_code, result.output


def lines(*arguments: str) -> list[str]:
    code, output = invoke(*arguments)
    assert code == 0, output
    return output.splitlines()


def records(*arguments: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines(*arguments, "--json")]


def expected(journal: dj.Journal, command: str) -> list[dict[str, Any]]:
    method = {"changes": journal.changes, "deletes": journal.deletes, "key-changes": journal.key_changes}[command]
    return [msgspec.to_builtins(item) for item in method(STUDENT)]


def test_versions(history: dj.Journal) -> None:
    newest = history.versions().newest
    assert newest == BIG + 7
    assert lines("versions") == [f"oldest=0 newest={newest}"]
    assert lines("versions", "--json") == [f'{{"oldest":0,"newest":{newest}}}']
    assert lines("versions", "--json", "--string-versions") == [f'{{"oldest":"0","newest":"{newest}"}}']


@pytest.mark.parametrize("command", READERS)
def test_json_has_what_the_api_gives(history: dj.Journal, command: str) -> None:
    found = records(command, "Student")
    assert found == expected(history, command)
    assert len(found) == {"changes": 2, "deletes": 1, "key-changes": 1}[command]
    assert all(isinstance(record[name], int) for record in found for name in NUMBERS)
    assert found[0]["change_version"] > BIG


@pytest.mark.parametrize("command", READERS)
def test_versions_and_ids_as_strings(history: dj.Journal, command: str) -> None:
    numbers, strings = records(command, "Student"), records(command, "Student", "--string-versions")
    assert strings == [{**record, **{name: str(record[name]) for name in NUMBERS}} for record in numbers]
    assert {int(record["change_version"]) for record in strings} <= set(range(BIG, BIG + 8))


@pytest.mark.parametrize("command", READERS)
def test_programs_get_fields_between_tabs(history: dj.Journal, command: str) -> None:
    rows = [line.split("\t") for line in lines(command, "Student")]
    assert [len(row) for row in rows] == [len(record) for record in expected(history, command)]
    assert [row[0] for row in rows] == [str(record["document_id"]) for record in expected(history, command)]
    if command == "deletes":
        assert json.loads(rows[0][3]) == {"studentUniqueId": "n\té2"}  # the tab in it is no separator


@pytest.mark.parametrize("command", READERS)
def test_people_get_a_heading(history: dj.Journal, command: str) -> None:
    ours, theirs = pty.openpty()
    environment = os.environ | {"PYTHONPATH": str(ROOT), "TERM": "dumb"}
    arguments = [sys.executable, "-m", "dmsjournal", command, "Student"]
    subprocess.run(arguments, stdout=theirs, env=environment, timeout=120, check=True)
    os.close(theirs)
    shown = os.read(ours, 10_000).decode().splitlines()
    os.close(ours)
    assert "document_id" in shown[0]
    assert "change_version" in shown[0]
    assert len(shown) == 1 + len(expected(history, command))


@pytest.mark.acceptance("4")
def test_both_ends_of_a_window_are_inclusive(history: dj.Journal) -> None:
    versions = [record["change_version"] for record in records("changes", "Student")]
    first, last = map(str, (versions[0], versions[-1]))
    assert [r["change_version"] for r in records("changes", "Student", "--min", last)] == versions[-1:]
    assert [r["change_version"] for r in records("changes", "Student", "--max", first)] == versions[:1]
    assert records("changes", "Student", "--min", first, "--max", last) == records("changes", "Student")
    assert records("changes", "Student", "--min", str(2**63 - 1)) == []


@pytest.mark.acceptance("39")
@pytest.mark.parametrize("size", ["1", "2", "1000000"])
def test_a_page_s_size_makes_no_difference(history: dj.Journal, size: str) -> None:
    for command in READERS:
        assert records(command, "Student", "--page-size", size) == records(command, "Student")


def test_limit(history: dj.Journal) -> None:
    assert records("changes", "Student", "--limit", "1") == records("changes", "Student")[:1]
    assert records("changes", "Student", "--limit", "1000") == records("changes", "Student")


def test_a_resource_by_its_full_name(history: dj.Journal) -> None:
    assert records("changes", "Ed-Fi/Student/5.2.0") == records("changes", "Student")
    assert len(records("changes", "TPDM/School/1.0")) == 1


@pytest.mark.acceptance("9")
@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("Studnet", "did you mean Student?"),
        ("student", "did you mean Student?"),
        ("School", "Ed-Fi/School/5.2.0 or TPDM/School/1.0"),
        ("Ed-Fi/Studnet/5.2.0", "did you mean Ed-Fi/Student/5.2.0"),
        ("Ed-Fi/Student", "project/resource/version"),
        ("Quark", "no such resource"),
    ],
)
def test_a_name_that_means_no_one_resource(history: dj.Journal, name: str, says: str) -> None:
    for command in READERS:
        code, output = invoke(command, name)
        assert code == 1
        assert output.startswith(f"resource = '{name}': ")
        assert says in output


def test_derive(history: dj.Journal) -> None:
    ids = [record["document_id"] for record in records("changes", "Student")]
    derived = history.derive(ids)
    found = records("derive", *map(str, reversed(ids)))
    assert found == [{"document_id": i, **msgspec.to_builtins(derived[i])} for i in reversed(ids)]
    strings = records("derive", str(ids[0]), "--string-versions")
    assert strings == [{**found[-1], "document_id": str(ids[0]), "change_version": str(derived[ids[0]].change_version)}]
    assert lines("derive", str(ids[0]))[0].split("\t")[0] == str(ids[0])


def test_derive_says_which_documents_do_not_exist(history: dj.Journal) -> None:
    existing = str(records("changes", "Student")[0]["document_id"])
    code, output = invoke("derive", existing, "999999", "-5", "--json")
    assert code == 1
    first, second = output.splitlines()
    assert json.loads(first)["document_id"] == int(existing)
    assert second == "there is no document 999999, -5"


@pytest.mark.parametrize("text", ["abc", "1.5", str(2**63), "--bogus"])
def test_an_id_that_is_none_is_refused(history: dj.Journal, text: str) -> None:
    code, output = invoke("derive", "1", text)
    assert code == 1
    assert output.startswith("ids = ")


def test_an_expired_window_says_where_to_go_on(history: dj.Journal, connections: list[sa.Connection]) -> None:
    with connections[0].begin():
        connections[0].exec_driver_sql(f"UPDATE dms.JournalFloor SET ChangeVersion = {BIG + 2}")
    for command in READERS:
        code, output = invoke(command, "Student", "--min", "5")
        assert code == 5
        assert f"the oldest is {BIG + 3}" in output


def test_migration_commands(url: str, postgres_server: Any) -> None:
    with postgres_server.fresh_database() as empty:
        code, output = invoke("current", "--url", empty)
        assert code == 0
        assert output.startswith("revision=None newest=")
        code, output = invoke("versions", "--url", empty)
        assert code == 5
        assert "the database has no journal" in output
        code, output = invoke("upgrade", "--url", empty)
        assert (code, output.split()[1]) == (0, "before=None")
        newest = output.split()[0]
        assert lines("upgrade", "--url", empty) == [f"{newest} before={newest.partition('=')[2]}"]
        assert lines("current", "--url", empty) == [f"{newest} {newest.replace('revision', 'newest')}"]
        code, output = invoke("downgrade", "-1", "--url", empty)
        assert (code, output.split()[1]) == (0, newest.replace("revision", "before"))
        assert lines("downgrade", "base", "--url", empty)[0].startswith("revision=None before=")
        code, output = invoke("upgrade", "--url", empty, "--revision", "nonsense")
        assert code == 5
        assert "nothing was changed" in output


def parts_of(*arguments: str) -> list[dict[str, Any]]:
    """The parts that `plan` prints; what it says on stderr comes after them."""
    return [json.loads(line) for line in lines("plan", *arguments, "--json")[:-1]]


def test_a_plan_is_printed_in_parts(history: dj.Journal) -> None:
    found = parts_of("Student", "--parts", "2")
    assert [set(part) for part in found] == [{"first", "last", "events", "after_id", "through_id"}] * 2
    assert (found[0]["first"], found[1]["last"]) == (0, history.versions().newest)
    assert found[1]["first"] == found[0]["last"] + 1 > BIG
    assert sum(part["events"] for part in found) == history.plan(STUDENT).events > 0
    strings = parts_of("Student", "--parts", "2", "--string-versions")
    assert (strings[1]["first"], strings[1]["after_id"]) == (str(found[1]["first"]), None)
    assert lines("plan", "--min", str(BIG), "--events-per-part", "1000000")[-1] == (
        f"{history.plan().events} events from {BIG} to {history.versions().newest} in 1 parts, "
        f"the largest is 1.00 times the mean; newest={history.versions().newest}"
    )
    assert [part["documents"] for part in parts_of("--full", "--parts", "4")] == [1] * 4


def test_a_plan_on_a_terminal_has_bars(history: dj.Journal) -> None:
    command = [sys.executable, "-m", "dmsjournal", "plan", "--parts", "3"]
    parent, child = pty.openpty()
    subprocess.run(command, stdout=child, stderr=subprocess.PIPE, check=True, cwd=ROOT)
    os.close(child)
    shown = os.read(parent, 100_000).decode()
    assert shown.count("█") > 3
    assert "events" in shown


@pytest.mark.parametrize(
    ("asked", "code"),
    [(["Studnet"], 1), (["--parts", "0"], 1), (["--parts", "2", "--events-per-part", "5"], 2), (["--full", "--min", "3"], 2)],
)
def test_a_plan_that_makes_no_sense_is_refused(history: dj.Journal, asked: list[str], code: int) -> None:
    found, output = invoke("plan", *asked)
    assert found == code
    assert asked[0].lstrip("-").replace("full", "min") in output
