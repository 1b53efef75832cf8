"""What another program stored (acceptance 85) never breaks a page, a stream or a command."""

import json

import pytest
import sqlalchemy as sa
from typer.testing import CliRunner

import dmsjournal as dj
from dmsjournal import cli
from dmsjournal.events import formats
from tests.helpers import STUDENT, commit, document, write
from tests.http.conftest import in_process, settings_of

DEEP = '{"a":' + "[" * 2_900 + "]" * 2_900 + "}"
KEYS = ['"x"', "5", "[1]", "true", "null", DEEP]
PATHS = [
    "/data/v3/ed-fi/students", "/data/v3/ed-fi/students?minChangeVersion=1&totalCount=true", "/data/v3/ed-fi/students/deletes",
    "/data/v3/ed-fi/students/keyChanges", "/changefeed", "/feed", "/feed?item_state=INCLUDE_IF_AVAILABLE",
]  # fmt: skip
COMMANDS = [
    ["changes", "Student"], ["snapshot", "Student"], ["deletes", "Student"], ["deletes", "Student", "--json"],
    ["key-changes", "Student"], ["key-changes", "Student", "--json"], *(["feed", "--format", name] for name in formats.names()),
    ["verify"],
]  # fmt: skip


@pytest.fixture
def stored(journal: dj.Journal, connections: list[sa.Connection]) -> dj.Journal:
    """Students whose keys are each of KEYS, live and deleted, and key changes between them."""
    write(journal, document(STUDENT, 1))
    student = "SELECT ResourceKeyId FROM dms.ResourceKey WHERE ResourceName = 'Student'"
    for key in KEYS * 2:
        commit(connections[0], f"INSERT INTO dms.Document (ResourceKeyId, KeyValues) VALUES (({student}), '{key}')")
    for position, key in enumerate(KEYS):
        commit(connections[0], f"UPDATE dms.Document SET KeyValues = '{key}' WHERE DocumentId = {2 + (position + 1) % len(KEYS)}")
    commit(connections[0], f"DELETE FROM dms.Document WHERE DocumentId > {1 + len(KEYS)}")
    return journal


@pytest.mark.acceptance("85")
def test_every_page_of_the_service_shows_it(stored: dj.Journal, url: str) -> None:
    with in_process(settings_of(url)) as service:
        for path in PATHS:
            answer = service.get(path)
            assert answer.status_code == 200, (path, answer.text[:300])
        documents = service.get(PATHS[0]).text
        assert documents.count('"_etag"') == 1 + len(KEYS)


@pytest.mark.acceptance("85")
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_shows_it(stored: dj.Journal, url: str, command: list[str]) -> None:
    ran = CliRunner().invoke(cli.app, [*command, "--url", url])
    assert ran.exit_code == 0, (ran.output[-500:], ran.exception)
    if command == ["deletes", "Student", "--json"]:
        assert ran.stdout.count("\n") == len(KEYS)
        assert [json.loads(line)["key_values"] for line in ran.stdout.splitlines()[:4]] == ["x", 5, [1], True]
