"""The script that a DBA runs with sqlcmd, read and not run: its transaction, its guards and its order, which no grammar knows."""

import re

import pytest

from dmsjournal.database import sql
from dmsjournal.schema import migrate

GUARD = "IF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK;\nIF @@TRANCOUNT = 0 SET NOEXEC ON;"
REVISIONS = ["0001", "0002", "0003", "0004", "0005", "0006", "0007"]
SCRIPTS = {"upgrade": ("head", False), "downgrade": ("head:base", True)}

_QUOTED_OR_COMMENT = re.compile(r"('(?:[^']|'')*'|\"[^\"]*\"|\[[^\]]*\])|--[^\n]*|/\*.*?\*/", re.DOTALL)
_MODULE = re.compile(r"CREATE\s+(?:TRIGGER|PROC(?:EDURE)?|VIEW|FUNCTION)\b", re.IGNORECASE)
_STEP = re.compile(r"^-- Running (?:upgrade|downgrade) (\d*) -> (\d*) *$", re.MULTILINE)


def uncommented(text: str) -> str:
    return _QUOTED_OR_COMMENT.sub(lambda found: found[1] or "", text).strip()


def code(text: str) -> str:
    """Its words: without comments, and with nothing inside quotes."""
    return _QUOTED_OR_COMMENT.sub(lambda found: "''" if found[1] else "", text).strip()


def is_ours(batch: str) -> bool:
    """Whether it is of a file: each names itself first."""
    return "-- sql/sqlserver/" in batch


def is_alone(module: str) -> bool:
    """Whether nothing comes after the one BEGIN … END of a trigger or procedure, or after the one statement of a view."""
    if not re.search(r"\bBEGIN\b", module):
        return module.count(";") == 1 and module.endswith(";")
    depth = 0
    for word in re.finditer(r"\b(BEGIN|CASE|END)\b", module):
        depth += -1 if word[1] == "END" else 1
        if depth == 0:
            return module[word.end() :] == ";"
    return False


@pytest.fixture(params=SCRIPTS)
def batches(request: pytest.FixtureRequest) -> list[str]:
    revision, down = SCRIPTS[request.param]
    return sql.batches(migrate.script("sqlserver", revision, down=down))


@pytest.fixture
def upgrade() -> str:
    return migrate.script("sqlserver")


def test_it_starts_with_what_a_transaction_and_a_trigger_need(batches: list[str]) -> None:
    assert batches[0].startswith("SET XACT_ABORT ON;\nSET QUOTED_IDENTIFIER ON;\n")


def test_a_module_is_alone_in_its_batch(batches: list[str], request: pytest.FixtureRequest) -> None:
    modules = [text for text in map(code, batches) if _MODULE.search(text)]
    assert bool(modules) == ("upgrade" in request.node.name)
    for module in modules:
        assert _MODULE.match(module), module
        assert len(_MODULE.findall(module)) == 1, module
        assert is_alone(module), module


def test_each_batch_of_ours_is_guarded(batches: list[str]) -> None:
    ours = [place for place, batch in enumerate(batches) if is_ours(batch)]
    assert ours
    assert [batches[place] for place in ours if batches[place + 1].strip() != GUARD] == []


def test_there_is_one_transaction_and_all_is_in_it(batches: list[str]) -> None:
    words = [code(batch) for batch in batches]
    ends = re.compile(r"\b(BEGIN TRAN|COMMIT\b|ROLLBACK\b|SAVE TRAN)", re.IGNORECASE)
    found = [(place, end) for place, text in enumerate(words) if text != GUARD for end in ends.findall(text)]
    assert found == [(1, "BEGIN TRAN"), (len(words) - 3, "COMMIT")]
    assert re.fullmatch(r"(SET \w+ ON;\s*)+", words[0] + "\n")
    assert words[1].startswith("BEGIN TRANSACTION;")
    assert words[-3:] == ["COMMIT;", GUARD, "SET NOEXEC OFF;"]


@pytest.mark.parametrize(("lock_timeout", "milliseconds"), [("500ms", "500"), ("5s", "5000"), ("1min", "60000"), ("0", "-1")])
def test_it_waits_as_long_as_asked_for(lock_timeout: str, milliseconds: str) -> None:
    script = uncommented(migrate.script("sqlserver", lock_timeout=lock_timeout))
    assert re.findall(r"SET LOCK_TIMEOUT ([^;]*);", script) == [milliseconds]
    assert re.findall(r"@LockTimeout = ([^;]*);", script)[0] == milliseconds  # of the lock on migrations
    assert "{" not in script


def test_a_revision_is_noted_after_its_files(batches: list[str], request: pytest.FixtureRequest) -> None:
    before, *steps = _STEP.split("\nGO\n".join(batches))
    assert not re.search(r"(INSERT INTO|UPDATE|DELETE FROM) dms\.alembic_version", uncommented(before))
    taken = list(zip(steps[0::3], steps[1::3], steps[2::3], strict=True))
    down = "downgrade" in request.node.name
    expected = list(zip(["", *REVISIONS], REVISIONS, strict=False))
    assert [(old, new) for old, new, _ in taken] == ([(new, old) for old, new in reversed(expected)] if down else expected)
    for old, new, text in taken:
        inside = sql.batches(text)
        noting = re.compile(r"\s*(INSERT|UPDATE|DELETE)\b.*dms\.alembic_version")
        (note,) = [place for place, batch in enumerate(inside) if noting.match(batch)]
        assert f"'{new or old}'" in inside[note]
        assert (
            max(place for place, batch in enumerate(inside) if is_ours(batch) and not re.search(r"checks/(options|mark)", batch))
            < note
        )


def test_nothing_replaces_what_may_be_somebody_else_s(batches: list[str]) -> None:
    assert not any(re.search(r"\bCREATE\s+OR\s+ALTER\b", uncommented(batch), re.IGNORECASE) for batch in batches)


def test_no_journal_has_an_identity(upgrade: str) -> None:
    """A trigger's insert into one would change the @@IDENTITY that the writer's next statement reads."""
    tables = re.findall(r"CREATE TABLE dms\.(\w+) \((.*?)^\s*\);", code(upgrade), re.DOTALL | re.MULTILINE)
    assert [name for name, columns in tables if name.endswith("Event") and re.search(r"\bIDENTITY\b", columns, re.IGNORECASE)] == []
    assert sum(name.endswith("Event") for name, _ in tables) == 4
    assert any(re.search(r"\bIDENTITY\b", columns) for _, columns in tables)


def test_each_table_and_the_sequence_are_marked_as_ours(upgrade: str) -> None:
    """An installation refuses a schema that holds what has no mark."""
    text = uncommented(upgrade)
    made = re.findall(r"CREATE (TABLE|SEQUENCE) dms\.(\w+)", text)
    calls = r"EXEC sys\.sp_addextendedproperty N'dmsjournal', N'(?:[^']|'')+', N'SCHEMA', N'dms', N'(TABLE|SEQUENCE)', N'(\w+)';"
    assert sorted(set(re.findall(calls, text))) == sorted(made)
    # Alembic's own table again where it holds no revision; and what an export has left without its property (installable.sql)
    assert text.count("sp_addextendedproperty") == len(made) + 2
    assert ("SEQUENCE", "ChangeVersionSequence") in made
