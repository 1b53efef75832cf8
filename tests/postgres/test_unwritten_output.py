"""Each command says that its standard output is closed, whatever it prints there."""

from pathlib import Path

import pytest
from typer.main import get_command

import dmsjournal as dj
from dmsjournal import cli
from tests import commands as in_processes
from tests.acceptance.test_unwritten_output import CLOSED
from tests.helpers import STUDENT, document, write

pytestmark = pytest.mark.acceptance("86")

LINE = b"""{"projectName": "Ed-Fi", "resourceName": "Student", "resourceVersion": "5.2.0", "identity": {"studentId": 7}, "body": {},
 "references": []}""".replace(b"\n", b"")
COMMANDS = {
    "versions": [],
    "changes": ["Student"],
    "snapshot": ["Student"],
    "deletes": ["Student"],
    "key-changes": ["Student"],
    "derive": ["1"],
    "feed": [],
    "feed-partitions": [],
    "plan": ["--parts", "2"],
    "status": ["--json"],
    "verify": [],
    "prune": ["--through", "1"],
    "consumers register": ["crm"],
    "consumers list": [],
    "consumers advance": ["other", "3"],
    "consumers drop": ["other"],
    "notify": ["--ring", "{folder}/ring", "--once"],
    "deliver": ["--consumer", "crm", "--files", "{folder}/files", "--once", "--from-beginning"],
    "load": ["{folder}/documents.jsonl"],
    "current": [],
    "upgrade": [],
    "token": ["crm"],
}
LEFT = {
    "track": "it prints as consumers list does, and needs an option",
    "exclude-images": "as well",
    "untrack": "as well",
    "tracked": "as well",
    "sql": "in tests/acceptance/test_unwritten_output.py",
    "fill": "it prints as load does, and needs an option",
    "adopt": "it prints as upgrade does, and needs tables of another application",
    "downgrade": "it prints as upgrade does, and takes all away",
    "partitions list": "it prints as consumers list does, and needs an option",
    "partitions ensure": "as well",
    "partitions split": "as well",
    "extract": "Spark; what it reads goes to a folder",
    "apply": "Spark; what it reads goes to a table",
    "serve": "it prints nothing: logs go to stderr",
    "demo": "a story",
}


def test_every_command_is_looked_at() -> None:
    commands = dict(get_command(cli.app).commands)  # type: ignore[attr-defined]
    for group in ("consumers", "partitions"):
        commands |= {f"{group} {name}": command for name, command in commands.pop(group).commands.items()}
    assert commands.keys() == COMMANDS.keys() | LEFT.keys()


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_says_so(
    journal: dj.Journal, url: str, commands: in_processes.Commands, monkeypatch: pytest.MonkeyPatch, command: str, tmp_path: Path
) -> None:
    write(journal, *(document(STUDENT, n) for n in range(5)))
    with journal.write() as tx:
        tx.rekey(STUDENT, {"studentId": 1}, {"studentId": 100})
        tx.delete(STUDENT, {"studentId": 2})
    journal.consumers.register("other", 1)
    (tmp_path / "documents.jsonl").write_bytes(LINE)
    arguments = [each.format(folder=tmp_path) for each in COMMANDS[command]]
    monkeypatch.setenv("DMSJOURNAL_URL", url)
    if command == "token":
        monkeypatch.delenv("DMSJOURNAL_URL")
    done = commands.run([*command.split(), *arguments], output=in_processes.CLOSED)
    assert done.code == 1, done.printed
    assert done.printed.endswith(CLOSED)
    assert "Traceback" not in done.printed
