"""Each command, fed with names that a terminal would obey: none reaches it raw, none forges a line or a column."""

import json

import pytest
import sqlalchemy as sa
from typer.testing import CliRunner

import dmsjournal as dj
from dmsjournal.cli import app
from tests.helpers import STUDENT, commit, document, write

HOSTILE = "\x1b]0;owned\x07\x1b[2Jx\ny\tz\x9b31m\u202e\u2066\u2028"
RAW = set(HOSTILE) - set("0;owned[2Jxyz]31m\n\t")


@pytest.fixture
def hostile(journal: dj.Journal, url: str, connections: list[sa.Connection]) -> str:
    """A database whose resources, keys and consumers have such names; the constraints on names are taken away first."""
    commit(connections[0], "ALTER TABLE dms.ResourceKey DROP CONSTRAINT CK_ResourceKey_Printable")
    commit(connections[0], "ALTER TABLE dms.ChangeConsumer DROP CONSTRAINT CK_ChangeConsumer_Name")
    write(journal, dj.Document(STUDENT, {"id": HOSTILE}), document(STUDENT, 2))
    rename = sa.text("UPDATE dms.ResourceKey SET ResourceName = :name")
    insert = sa.text("INSERT INTO dms.ChangeConsumer (Name, ChangeVersion, DocumentId) VALUES (:name, 0, 9223372036854775807)")
    with connections[0].begin():
        connections[0].execute(rename, {"name": HOSTILE})
        connections[0].execute(insert, {"name": HOSTILE})
    return url


COMMANDS = {
    "consumers list": ["consumers", "list"],
    "consumers list json": ["consumers", "list", "--json"],
    "consumers drop": ["consumers", "drop", HOSTILE],
    "consumers register": ["consumers", "register", HOSTILE],
    "consumers advance": ["consumers", "advance", "nobody", "1"],
    "prune": ["prune", "--through", "1"],
    "prune dry": ["prune", "--through", "1", "--dry-run"],
    "prune json": ["prune", "--through", "1", "--json"],
    "status": ["status"],
    "status json": ["status", "--json"],
    "status prometheus": ["status", "--prometheus"],
    "status limits": ["status", "--max-lag-versions", "0"],
    "status plot": ["status", "--plot", "-"],
    "changes": ["changes", "Ed-Fi/Student/1"],
    "changes raw": ["changes", f"Ed-Fi/{HOSTILE}/5.2.0"],
    "derive": ["derive", HOSTILE],
    "feed": ["feed"],
    "feed cdc": ["feed", "--format", "cdc"],
    "feed cloudevents": ["feed", "--format", "cloudevents"],
    "versions": ["versions"],
    "verify": ["verify"],
    "verify json": ["verify", "--json"],
    "current": ["current"],
    "deliver": ["deliver", "--consumer", HOSTILE, "--once", "--to", "http://127.0.0.1:9/", "--dead-letters", HOSTILE],
    "upgrade": ["upgrade", "--with", HOSTILE],
    "load": ["load", HOSTILE],
    "no such": [HOSTILE],
}


def test_nothing_hostile_is_printed(hostile: str) -> None:
    for name in COMMANDS:
        assert_harmless(hostile, name)


def assert_harmless(hostile: str, name: str) -> None:
    done = CliRunner().invoke(app, COMMANDS[name], env={"DMSJOURNAL_URL": hostile})
    for text in (done.stdout, done.stderr):
        assert not RAW & set(text), (name, text)
        assert "x\ny" not in text, (name, text)
        assert "y\tz" not in text, (name, text)
    assert isinstance(done.exception, SystemExit | None), (name, done.exception)


def test_a_line_of_a_program_has_its_columns_whatever_the_name(hostile: str) -> None:
    done = CliRunner().invoke(app, ["consumers", "list"], env={"DMSJOURNAL_URL": hostile})
    [line] = done.stdout.splitlines()
    columns = line.split("\t")
    assert len(columns) == 6
    assert json.loads(f'"{columns[0]}"'.replace("\\x", "\\u00")) == HOSTILE
