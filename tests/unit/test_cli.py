"""The command line without a database: what it refuses, what it prints, what it imports, and what it never shows."""

import os
import subprocess
import sys
from collections.abc import Callable
from inspect import signature
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import dmsjournal as dj
from dmsjournal import cli
from dmsjournal.deliver.dead_letters import DeadLetters
from dmsjournal.deliver.files import RotatingFiles
from dmsjournal.deliver.retries import Retries
from dmsjournal.deliver.webhooks import Webhook
from dmsjournal.schema import adopt, fill
from dmsjournal.util import durations

ROOT = Path(__file__).parents[2]
NOWHERE = "postgresql+psycopg://reader:secret-word@127.0.0.1:1/nothing"  # nothing listens on port 1
COMMANDS = ["upgrade", "adopt", "downgrade", "current", "sql", "load", "versions", "changes", "deletes", "key-changes", "derive"]
COMMANDS += ["verify", "status", "demo", "prune", "consumers", "deliver", "notify", "exclude-images", "track", "untrack", "tracked"]


@pytest.fixture(autouse=True)
def no_url(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DMSJOURNAL_URL", raising=False)


def invoke(*arguments: str) -> tuple[int, str]:
    """Exit code, and stdout and stderr in one."""
    result = CliRunner().invoke(cli.app, arguments)
    return result.exit_code, result.output


def python(code: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, env=environment, timeout=120)


def test_help_names_every_command_and_says_what_it_does() -> None:
    code, output = invoke("--help")
    assert code == 0
    for command in COMMANDS:
        assert f"  {command} " in output
        assert invoke(command, "--help")[0] == 0


def test_help_of_every_command_has_an_example() -> None:
    from typer.main import get_command

    commands = dict(get_command(cli.app).commands)
    for group in ("consumers", "partitions"):
        commands |= {f"{group} {name}": command for name, command in commands.pop(group).commands.items()}
    assert [name for name, command in commands.items() if "xample" not in command.help] == []


def test_version() -> None:
    assert invoke("--version") == (0, f"dmsjournal {dj.__version__}\n")


@pytest.mark.parametrize(
    ("arguments", "heavy"),
    [
        (["--help"], "alembic pyspark pyarrow pandas rich"),
        (["versions", "--url", NOWHERE], "alembic pyspark pyarrow pandas rich"),
        (["changes", "Student", "--url", NOWHERE], "alembic pyspark pyarrow pandas rich"),
        (["sql"], "pyspark pyarrow pandas rich"),
        (["load", os.devnull, "--url", NOWHERE], "alembic pyspark pyarrow pandas"),
    ],
)
def test_a_command_imports_only_what_it_needs(arguments: list[str], heavy: str) -> None:
    code = """
import sys
from dmsjournal.cli import app
try:
    app()
finally:
    print(*sorted(module for module in sys.modules if "." not in module), file=sys.stderr)
"""
    done = python(code, *arguments)
    assert not set(heavy.split()) & set(done.stderr.splitlines()[-1].split())


@pytest.mark.parametrize("command", [*COMMANDS[:4], *COMMANDS[5:13]])
def test_a_command_without_a_url_is_bad_usage(command: str) -> None:
    arguments = {"downgrade": ["base"], "load": ["-"], "derive": ["1"]}
    positional = arguments.get(command, ["Student"] if command in ("changes", "deletes", "key-changes") else [])
    code, output = invoke(command, *positional)
    assert code == 2
    assert "DMSJOURNAL_URL" in output


@pytest.mark.parametrize(
    "arguments",
    [["bogus"], ["changes"], ["changes", "Student", "--limit", "x"], ["changes", "Student", "--page-size", "0"], ["derive"]],
)
def test_bad_usage_ends_with_2(arguments: list[str]) -> None:
    assert invoke(*arguments, *(["--url", NOWHERE] if arguments[0] != "bogus" else []))[0] == 2


@pytest.mark.acceptance("7")
@pytest.mark.parametrize("command", ["changes", "deletes", "key-changes"])
@pytest.mark.parametrize("option", ["--min", "--max"])
@pytest.mark.parametrize(
    ("text", "shown"),
    [("abc", "'abc'"), ("-1", "-1"), (str(2**63), str(2**63)), ("", "''"), ("1.5", "'1.5'"), ("1_0", "'1_0'"), ("9" * 500, "'999")],
)
def test_a_bound_that_is_no_version_is_refused_by_name(command: str, option: str, text: str, shown: str) -> None:
    code, output = invoke(command, "Student", option, text, "--url", NOWHERE)
    assert code == 1
    assert output.startswith(f"{option} = {shown}")
    assert "a version is a whole number" in output
    assert output.count("\n") == 1


@pytest.mark.acceptance("7")
def test_min_above_max_is_refused_before_anything_is_connected() -> None:
    code, output = invoke("changes", "Student", "--min", "2", "--max", "1", "--url", NOWHERE)
    assert (code, output) == (1, "--min = 2: it is above --max (1): give the lower version first\n")


@pytest.mark.parametrize(
    "url",
    [
        NOWHERE,
        "postgresql://reader:secret-word@127.0.0.1:port/nothing",
        "postgresql://reader:secret-word@127.0.0.1:1",
        "postgresql://reader:secret-word@127.0.0.1:1/nothing?unknown=secret-word",
        "mysql://reader:secret-word@127.0.0.1/nothing",
        "reader:secret-word@127.0.0.1",
        "postgresql://reader:p@secret-word@127.0.0.1:1/nothing",
        "postgresql://reader:p@secret-word/w@127.0.0.1:1/nothing",
    ],
)
@pytest.mark.parametrize("command", ["versions", "upgrade", "current", "demo"])
def test_a_password_is_never_printed(url: str, command: str) -> None:
    code, output = invoke(command, "--url", url, *(["--no-spark"] if command == "demo" else []))
    assert code in (1, 75)  # 75: nobody is there
    assert "secret-word" not in output
    assert output.count("\n") == 1


@pytest.mark.parametrize("password", ["p@ss", "p@ss/w#rd"])
def test_a_password_that_is_not_encoded_is_told_how_to_be(password: str) -> None:
    code, output = invoke("versions", "--url", f"postgresql://reader:{password}@127.0.0.1:1/nothing")
    assert (code, output) == (1, "--url = '***': in the password write @ as %40 and % as %25\n")


def test_not_even_in_the_traceback_of_a_fault_of_ours() -> None:
    code = """
import dmsjournal as dj
from dmsjournal import cli
from dmsjournal.deliver.dead_letters import DeadLetters
from dmsjournal.deliver.files import RotatingFiles
from dmsjournal.deliver.retries import Retries
from dmsjournal.deliver.webhooks import Webhook
from dmsjournal.schema import adopt, fill
from dmsjournal.util import durations
def connect(url):
    raise RuntimeError("a fault")
dj.connect = connect
cli.app()
"""
    done = python(code, "versions", "--url", NOWHERE)
    assert done.returncode == 1
    assert "a fault" in done.stderr
    assert "secret-word" not in done.stderr + done.stdout


def test_ctrl_c_ends_with_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(url: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(dj, "connect", interrupted)
    assert invoke("versions", "--url", NOWHERE) == (130, "interrupted\n")


def test_a_closed_pipe_is_quiet() -> None:
    command = [sys.executable, "-m", "dmsjournal", "sql"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ | {"PYTHONPATH": str(ROOT)})
    assert process.stdout is not None
    process.stdout.close()
    _, errors = process.communicate(timeout=120)
    assert errors == b""


def test_sql_prints_a_script_for_psql() -> None:
    code, up = invoke("sql", "--lock-timeout", "7s")
    assert code == 0
    assert "CREATE TABLE dms.Document" in up
    assert "7s" in up
    code, down = invoke("sql", "--down")
    assert code == 0
    assert "DROP" in down


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--revision", "zzz"], "revision = 'zzz'"),
        (["--down", "--revision", "0001"], "head:base"),
        (["--lock-timeout", "soon"], "--lock-timeout = 'soon'"),
    ],
)
def test_sql_refuses_what_it_cannot_print(arguments: list[str], says: str) -> None:
    code, output = invoke("sql", *arguments)
    assert code == 1
    assert says in output


def test_sql_is_the_engine_s_that_is_named_or_the_url_s(monkeypatch: pytest.MonkeyPatch) -> None:
    in_t_sql = "SET XACT_ABORT ON"
    assert in_t_sql in invoke("sql", "--engine", "SqlServer")[1]
    monkeypatch.setenv("DMSJOURNAL_URL", "mssql+pyodbc://user:password@host/database")
    assert in_t_sql in invoke("sql")[1]
    assert in_t_sql not in invoke("sql", "--engine", "POSTGRES")[1]
    code, output = invoke("sql", "--url", "oracle://user:secret-word@host/database")
    assert (code, "this version speaks" in output, "secret-word" in output) == (1, True, False)


def test_rejects_go_with_keep_going_and_never_over_the_file_itself(tmp_path: Path) -> None:
    file = tmp_path / "documents.jsonl"
    file.write_text("{}\n")
    assert invoke("load", str(file), "--rejects", "other", "--url", NOWHERE)[0] == 2
    assert invoke("load", str(file), "--keep-going", "--rejects", str(file), "--url", NOWHERE)[0] == 2
    assert file.read_text() == "{}\n"


@pytest.mark.parametrize("name", ["missing.jsonl", ""])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, name: str) -> None:
    code, output = invoke("load", str(tmp_path / name), "--url", NOWHERE)
    assert code == 1
    assert output.startswith(f"file = '{tmp_path / name}'")


@pytest.mark.parametrize("arguments", [["--format", "cdc"], ["--tenant", "one"]])
def test_events_that_need_the_extra_say_so(arguments: list[str]) -> None:
    script = "import sys; sys.modules['dmsjournal.events.cdc'] = None; from dmsjournal.cli import app; app()"
    done = python(script, "feed", "--url", NOWHERE, *arguments)
    assert (done.returncode, done.stdout) == (5, "")
    assert "is not installed: pip install 'dmsjournal[events]'" in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["plan", "--parts", "2", "--events-per-part", "5"],
        ["plan", "--full", "--max", "5"],
        ["extract", "/nowhere", "--full", "--min", "1"],
        ["extract", "/nowhere", "--full", "--from-checkpoint"],
        ["extract", "/nowhere", "--full", "--max", "1"],
        ["prune"],
        ["sql", "--revision", "head", "--with", "images"],
        ["verify", "--repair", "--sample", "0.5"],
    ],
    ids=" ".join,
)
def test_options_that_do_not_go_together_are_bad_usage(arguments: list[str]) -> None:
    url = [] if arguments[0] == "sql" else ["--url", NOWHERE]
    code, output = invoke(*arguments, *url)
    assert (code, output.startswith("Usage: ")) == (2, True), output
    assert "_" not in output.replace("DMSJOURNAL_URL", "")  # options, not parameters


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["prune", "--through", "1", "--journal", "Nope"], "--journal = 'Nope': no journal has the name; name one of "),
        (["prune", "--older-than", "abc"], "--older-than = 'abc': "),
        (["partitions", "split", "--journal", "Nope"], "--journal = 'Nope': no journal has the name; name one of "),
        (["sql", "--with", "nope"], "--with = 'nope': this release has no such option; name one of context, images"),
        (["sql", "--without", "nope"], "--without = 'nope': "),
        (["serve", "--log-level", "loud"], "--log-level = 'loud': "),
        (["status", "--plot", "/nowhere/x.png"], "--plot = '/nowhere/x.png': there is no folder /nowhere"),
        (["feed", "--at", "noon"], "--at = 'noon': "),
        (["derive", "abc"], "ids = 'abc': "),
        (["apply", "/nowhere", "/nowhere", "--format", "csv"], "--format = 'csv': "),
    ],
)
def test_what_is_refused_is_named_by_its_option(arguments: list[str], says: str) -> None:
    code, output = invoke(*arguments, *([] if arguments[0] in ("sql", "apply") else ["--url", NOWHERE]))
    assert (code, output[: len(says)]) == (1, says)
    assert output.count("\n") == 1


def test_flags_are_named_as_they_were_given_and_notes_stay() -> None:
    import typer

    from dmsjournal.cli.refusals import worded

    def context(command: str, *arguments: str) -> object:
        return typer.main.get_command(cli.app).commands[command].make_context(command, list(arguments))  # type: ignore[attr-defined]

    extract = context("extract", "/nowhere", "--no-body", "--url", NOWHERE)
    refused = dj.InvalidRequest("body", False, "it was begun with `body`: leave it out")
    refused.add_note("nothing was written")
    told = worded(refused, extract)
    assert (str(told), told.__notes__) == ("--no-body: it was begun with --body: leave it out", ["nothing was written"])
    assert str(worded(dj.InvalidRequest("min", None, "give one"), extract)) == "--min: give one"
    assert str(worded(dj.InvalidRequest("where", "/nowhere", "no"), extract)) == "output = '/nowhere': no"  # by its value


@pytest.mark.parametrize(
    ("files", "says"), [([], "The database stays until"), (["changes.parquet"], "The database and the Parquet")]
)
def test_a_demo_that_is_kept_says_what_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: list[str], says: str
) -> None:
    from unittest.mock import Mock

    from rich.console import Console

    from dmsjournal.demo import story

    for name in files:
        (tmp_path / name).mkdir()
    monkeypatch.setattr(story, "threading", Mock(Event=Mock(side_effect=KeyboardInterrupt)))
    console = Console(record=True, width=200)
    story._wait(console, Mock(url=lambda: "postgresql://here/demo"), tmp_path)
    assert console.export_text().strip().startswith(says)
    assert (tmp_path / "url").read_text() == "postgresql://here/demo"


@pytest.mark.parametrize("command", [["adopt"], ["fill", "max_dep_identity_version"], ["partitions", "split"], ["prune"]])
def test_a_pause_is_written_with_its_unit_in_every_command(command: list[str]) -> None:
    assert "such as 100ms, 2s or 0" in " ".join(invoke(*command, "--help")[1].split())
    assert "--batch-size" in invoke(*command, "--help")[1]
    through = ["--through", "1"] if command == ["prune"] else []
    code, output = invoke(*command, *through, "--pause", "5", "--url", NOWHERE)
    assert (code, output[:14]) == (1, "--pause = '5':")
    for pause in ("0", "5ms"):
        assert "--pause" not in invoke(*command, *through, "--pause", pause, "--url", NOWHERE)[1]


def test_the_first_name_of_an_option_goes_on() -> None:
    assert invoke("fill", "max_dep_identity_version", "--batch-size", "0", "--url", NOWHERE)[0] == 2
    assert invoke("fill", "max_dep_identity_version", "--batch-size", "5", "--url", NOWHERE)[0] == 75
    assert "--batch " not in invoke("fill", "--help")[1]


def test_defaults_are_those_of_the_library() -> None:
    """An option that only passes a value on has the default that the library has."""

    def defaults(function: Callable[..., object]) -> dict[str, Any]:
        return {name: parameter.default for name, parameter in signature(function).parameters.items()}

    def seconds(text: str) -> float:
        return durations.parsed("time", text).total_seconds()

    by_command, retries = defaults(cli.deliver.deliver), Retries()
    assert by_command["tries"] == retries.tries
    assert [seconds(by_command[name]) for name in ("shortest_wait", "longest_wait", "patience")] == [
        retries.shortest,
        retries.longest,
        retries.patience,
    ]
    assert by_command["max_dead_letters"] == defaults(DeadLetters.__init__)["most"]
    assert by_command["max_bytes"] == defaults(RotatingFiles.__init__)["max_bytes"]
    assert seconds(by_command["max_age"]) == defaults(RotatingFiles.__init__)["max_age"]
    assert seconds(by_command["timeout"]) == defaults(Webhook.__init__)["timeout"]
    assert defaults(cli.install.fill)["batch_size"] == defaults(fill.fill)["batch_size"]
    for name in ("batch_size", "tries"):
        assert defaults(cli.adopt.adopt)[name] == defaults(adopt.adopt)[name]
