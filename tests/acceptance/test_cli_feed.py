"""The commands of the feed: a line an event, from anywhere, with a checkpoint that loses nothing."""

import json
from datetime import timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import dmsjournal as dj
from dmsjournal import cli
from tests.feeds import told, walk
from tests.helpers import PLAN, STUDENT, change_content, document, drawn_to_enter, write


@pytest.fixture
def written(journal: dj.Journal, connections) -> dj.Journal:
    write(journal, *(document(STUDENT, n, body={"name": "Zoë 𝄞"}) for n in range(3)), document(PLAN, 1))
    change_content(connections[0], 2)
    with journal.write() as tx:
        tx.delete(STUDENT, {"studentId": 0})
    return journal


def run(url: str, *arguments: str) -> Result:
    return CliRunner().invoke(cli.app, [*arguments, "--url", url])


def lines(result: Result) -> list[dict[str, object]]:
    assert result.exit_code == 0, result.stderr
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_a_line_is_an_event(written: dj.Journal, url: str) -> None:
    events, _ = walk(written, dj.FeedRequest())
    found = lines(run(url, "feed"))
    assert [(e["change_version"], e["key"]["document_id"], e["type"]) for e in found] == told(events)
    assert [e["event_id"] for e in found] == [str(event.event_id) for event in events]
    assert found[0]["resource"] == {"project_name": "Ed-Fi", "resource_name": "Student", "resource_version": "5.2.0"}
    assert found[0]["key"]["key_values"] == {"studentId": 0}
    assert lines(run(url, "feed", "--from-beginning", "--page-size", "1")) == found


def test_bodies_are_printed_unless_they_are_not_wanted(written: dj.Journal, url: str) -> None:
    bodies = [e["item_state"] and e["item_state"]["after"] for e in lines(run(url, "feed"))]
    assert bodies == [None, None, {"name": "Zoë 𝄞"}, {}, {"name": "Zoë 𝄞"}, None]
    assert {e["item_state"] for e in lines(run(url, "feed", "--no-bodies"))} == {None}


def test_it_starts_where_it_is_told(written: dj.Journal, connections, url: str) -> None:
    events, _ = walk(written, dj.FeedRequest())
    assert lines(run(url, "feed", "--now")) == []
    first = next(i for i, e in enumerate(events) if e.timestamp >= events[4].timestamp)
    for at in (events[4].timestamp.isoformat(), events[4].timestamp.replace(tzinfo=None).isoformat() + "Z"):
        assert len(lines(run(url, "feed", "--at", at))) == len(events) - first
    later = (events[-1].timestamp + timedelta(hours=1)).isoformat()
    result = run(url, "feed", "--at", later)
    assert lines(result) == []
    change_content(connections[0], 3)
    token = result.stderr.split("--token ")[1].strip()
    assert len(lines(run(url, "feed", "--token", token))) == 1


def test_one_resource_or_one_partition(written: dj.Journal, url: str) -> None:
    for name in (str(PLAN), PLAN.resource_name):
        assert len(lines(run(url, "feed", "--resource", name))) == 1
    parts = [lines(run(url, "feed", "--partition", f"1-{b}")) for b in range(4)]
    assert sorted(e["change_version"] for part in parts for e in part) == [e["change_version"] for e in lines(run(url, "feed"))]


def test_a_checkpoint_is_gone_on_from(written: dj.Journal, connections, url: str, tmp_path: Path) -> None:
    file = tmp_path / "feed.token"
    assert len(lines(run(url, "feed", "--checkpoint", str(file)))) == 6
    result = run(url, "feed", "--checkpoint", str(file))
    assert (lines(result), result.stderr) == ([], "")
    change_content(connections[0], 3)
    assert len(lines(run(url, "feed", "--checkpoint", str(file)))) == 1


@pytest.mark.parametrize(
    ("arguments", "message", "code"),
    [
        (["--token", "nonsense"], "token = 'nonsense': it is damaged", 1),
        (["--at", "yesterday"], "at = 'yesterday': write it as", 1),
        (["--resource", "Studnet"], "the database knows no such resource; did you mean Student?", 1),
        (["--resource", "Student/5.2.0"], "write it as project/resource/version", 1),
        (["--partition", "7-7"], "there is no such partition", 1),
        (["--now", "--from-beginning"], "give one place", 2),
        (["--partition", "1-0", "--resource", "a/b/c"], "'1-0' is a part of all resources", 2),
        (["--format", "xml"], "xml", 2),
    ],
)
def test_what_makes_no_sense_is_one_line(written: dj.Journal, url: str, arguments: list[str], message: str, code: int) -> None:
    result = run(url, "feed", *arguments)
    assert (result.exit_code, result.stdout) == (code, "")
    assert message in result.stderr


def test_partitions_are_listed_and_changed(written: dj.Journal, url: str) -> None:
    listed = lines(run(url, "feed-partitions", "--json"))
    assert [p["partition"] for p in listed] == ["1-0", "1-1", "1-2", "1-3"]
    changed = lines(run(url, "feed-partitions", "--set", "2", "--json"))
    at = 7 + drawn_to_enter(url)
    assert changed[1] == {"partition": "1-1", "parents": [], "children": ["2-0"], "begins_after": 0, "ends_at": at}
    assert changed[4] == {"partition": "2-0", "parents": ["1-0", "1-1"], "children": [], "begins_after": at, "ends_at": None}
    retired = run(url, "feed", "--partition", "1-1")
    assert retired.exit_code == 0
    assert "go on with --partition 2-0 --token " in retired.stderr
    assert run(url, "feed-partitions", "--set", "0").exit_code == 1
