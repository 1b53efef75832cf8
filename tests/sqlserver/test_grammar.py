"""Every shipped T-SQL file and both generated scripts by Microsoft's grammar, where there is no SQL Server to ask."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from dmsjournal import migrating
from tests.sqlserver import grammar

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.xdist_group("grammar")  # read once, for all of them

FILES = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in (ROOT / "sql" / "sqlserver").rglob("*.sql")}
SCRIPTS = {"upgrade": ("head", False), "downgrade": ("head:base", True)}

# Each with the line and the beginning of what is to be said of it.
BROKEN = {
    "SELECT ChangeVersion FORM dms.JournalFloor WHERE 1 = 1;": (1, "Incorrect syntax"),
    "SELECT ChangeVersion FROM dms.JournalFloor\nWEHRE ChangeVersion = 1;": (2, "Incorrect syntax"),
    "SELEC 1;": (1, "SELEC is no statement"),
    "IF 1 = 1\nBEGIN\n    PRINT N'END';": (3, "Unexpected end of file"),
    "SELECT (1 + 2;": (1, "Incorrect syntax"),
    "SELECT TOP 5 FROM dms.JournalFloor;": (1, "Incorrect syntax"),
    "SELECT ChangeVersion AS AS version FROM dms.JournalFloor;": (1, "Incorrect syntax"),
    "SELECT ChangeVersion FROM dms.JournalFloor LIMIT 5;": (1, "Incorrect syntax"),
    "SET NOCOUNT ON;\nCREATE TRIGGER dms.late ON dms.Document AFTER INSERT AS BEGIN SET NOCOUNT ON; END;": (2, "Incorrect syntax"),
    "CREATE VIEW dms.two AS SELECT 1 AS one;\nSELECT 2;": (2, "Incorrect syntax"),
    "IF 1 = 1\n    CREATE SCHEMA dms;": (2, "Incorrect syntax"),
    "PRINT N'one'\nTHROW 50001, N'two', 1;": (2, "THROW needs a semicolon"),
    "SELECT Journal FROM dms.JournalFloor\nTHROW;": (2, "THROW is taken for a name"),
    "THROW 50001, N'one' + N'two', 1;": (1, "Incorrect syntax"),
    "SELECT 1\nWITH one AS (SELECT 1 AS n) SELECT n FROM one;": (2, "WITH needs a semicolon"),
    "PRINT N'one\nGO\ntwo';": (1, "Expected but did not find a closing quotation mark"),
    "PRINT N'one';\n  go\nPRINT N'two';": (2, "GO is not alone"),
    "PRINT N'one';\nGO 5": (2, "GO is not alone"),
    "/* one\nPRINT N'two';": (2, "Expected but did not find an end comment"),
    "DECLARE @one bigin;": (1, "bigin is no type"),
    "PRINT N'one';\nGO\n\nEXEC sys.sp_executesql N'SELECT 1;\nSELECT FROM';": (5, "Incorrect syntax"),
}
SOUND = [
    "EXEC dms.horizon @horizon OUTPUT;",
    "IF @status < 0\n    THROW 50001, N'one', 1;\nELSE\n    THROW 50001, N'two', 1;",
    "BEGIN TRY\n    THROW 50001, N'one', 1;\nEND TRY\nBEGIN CATCH\n    THROW;\nEND CATCH;",
    "WITH one AS (SELECT 1 AS n) SELECT n FROM one;  -- a comment\nWITH two AS (SELECT 2 AS n) SELECT n FROM two;",
    "DECLARE @one nvarchar(max), @two sysname;",
]

SEQUENCE = "NEXT VALUE FOR dms.ChangeVersionSequence"
REFUSED_DRAWS = [
    f"SELECT DISTINCT {SEQUENCE} AS n FROM dms.Document;",
    f"INSERT INTO dms.x (n) SELECT {SEQUENCE} UNION ALL SELECT 1;",
    f"INSERT INTO dms.x (n) SELECT TOP (5) {SEQUENCE} FROM dms.Document;",
    f"SELECT {SEQUENCE} FROM dms.Document ORDER BY DocumentId OFFSET 5 ROWS;",
    f"SELECT {SEQUENCE} FROM dms.Document ORDER BY DocumentId;",
    f"UPDATE dms.x SET n = CASE WHEN n > 0 THEN {SEQUENCE} ELSE n END;",
    f"UPDATE dms.x SET n = CASE n WHEN 0 THEN {SEQUENCE} ELSE n END;",
    f"UPDATE dms.x SET n = COALESCE(n, {SEQUENCE});",
    f"UPDATE dms.x SET n = ISNULL(n, {SEQUENCE});",
    f"UPDATE dms.x SET n = IIF(n = 0, {SEQUENCE}, n);",
    f"UPDATE dms.x SET n = NULLIF({SEQUENCE}, 0);",
    f"UPDATE dms.x SET n = 0 WHERE n = {SEQUENCE};",
    f"UPDATE dms.x SET n = (SELECT {SEQUENCE});",
    f"WITH drawn AS (SELECT {SEQUENCE} AS n FROM dms.Document) SELECT n FROM drawn;",
    f"SELECT drawn.n FROM (SELECT {SEQUENCE} AS n FROM dms.Document) AS drawn;",
    f"SELECT drawn.n FROM (VALUES ({SEQUENCE})) AS drawn (n);",
    f"SELECT a.n FROM dms.x AS a INNER JOIN dms.x AS b ON a.n = {SEQUENCE};",
    f"SELECT MAX({SEQUENCE}) FROM dms.Document;",
    f"DELETE FROM dms.x OUTPUT {SEQUENCE};",
    f"MERGE dms.x AS a USING dms.x AS b ON a.n = b.n WHEN NOT MATCHED THEN INSERT (n) VALUES ({SEQUENCE});",
    f"CREATE VIEW dms.v AS SELECT {SEQUENCE} AS n;",
    f"CREATE FUNCTION dms.f () RETURNS bigint AS BEGIN RETURN {SEQUENCE}; END;",
    f"CREATE TABLE dms.x (n AS {SEQUENCE});",
    f"CREATE TABLE dms.x (n bigint CHECK (n < {SEQUENCE}));",
    f"EXEC sys.sp_executesql N'SELECT DISTINCT {SEQUENCE} AS n FROM dms.Document;';",
]
TAKEN_DRAWS = [
    f"DECLARE @stamp bigint = {SEQUENCE};",
    f"UPDATE @stamped SET Stamp = {SEQUENCE};",
    f"UPDATE dms.x SET n = {SEQUENCE} WHERE n = 0 OR n IN (SELECT DocumentId FROM dms.Document);",
    f"INSERT INTO dms.x (n) SELECT {SEQUENCE} OVER (ORDER BY DocumentId) FROM dms.Document;",
    f"INSERT INTO dms.x (n) VALUES ({SEQUENCE});",
    f"CREATE TABLE dms.x (n bigint DEFAULT {SEQUENCE});",
    f"IF EXISTS (SELECT DISTINCT n FROM dms.x)\nBEGIN\n    SELECT DISTINCT n FROM dms.x;\n    SET @stamp = {SEQUENCE};\nEND;",
]


def batches() -> Iterator[grammar.Batch]:
    """The files as they are run, with a lock timeout and with variables for binds; the scripts; what is to be refused or not."""
    for name, text in FILES.items():
        text = text.replace("{lock_timeout}", "5000")
        yield from grammar.split(name, grammar.bound(text) if re.search("/(queries|spark)/", name) else text)
    for name, (revision, down) in SCRIPTS.items():
        yield from grammar.split(name, migrating.script("sqlserver", revision, down=down))
    for text in (*BROKEN, *SOUND, *REFUSED_DRAWS, *TAKEN_DRAWS):
        yield from grammar.split(text, text)


@pytest.fixture(scope="module")
def read(scriptdom: Path) -> dict[str, list[grammar.Parsed]]:
    """All batches, by their file or script, or by themselves."""
    found: dict[str, list[grammar.Parsed]] = {}
    for parsed in grammar.parse(scriptdom, batches()):
        found.setdefault(parsed.batch.name, []).append(parsed)
    return found


def said(read: dict[str, list[grammar.Parsed]], name: str) -> list[str]:
    return [str(problem) for parsed in read[name] for problem in [*grammar.problems(parsed), *grammar.next_value_problems(parsed)]]


def test_every_file_is_t_sql(read) -> None:
    assert [line for name in FILES for line in said(read, name)] == []
    assert {name for name in FILES if any(parsed.tree for parsed in read[name])} == set(FILES) != set()


@pytest.mark.parametrize("name", SCRIPTS)
def test_every_batch_of_a_script_is_t_sql(read, name: str) -> None:
    assert said(read, name) == []
    assert len([parsed for parsed in read[name] if parsed.tree]) == len(read[name]) > 1


def test_a_file_with_stamps_is_looked_into(read) -> None:
    """What the trigger and, as dynamic SQL, the sequence's file draw is found: an empty search would refuse nothing."""
    drawing = {
        Path(name).name
        for name in FILES
        for parsed in read[name]
        for node, _ in parsed.tree.walk()
        if node.kind == "NextValueForExpression"
    }
    assert drawing >= {"document_stamp.v1.sql", "document_delete.v1.sql", "ChangeVersionSequence.v1.sql"}


@pytest.mark.parametrize("text", BROKEN)
def test_what_is_broken_is_reported(read, text: str) -> None:
    line, message = BROKEN[text]
    found = [problem for parsed in read[text] for problem in grammar.problems(parsed)]
    assert any(problem.line == line and problem.message.startswith(message) for problem in found), found


@pytest.mark.parametrize("text", REFUSED_DRAWS)
def test_a_stamp_drawn_where_none_can_be_is_reported(read, text: str) -> None:
    assert [problem for parsed in read[text] for problem in grammar.problems(parsed)] == []
    assert [problem for parsed in read[text] for problem in grammar.next_value_problems(parsed)] != []


@pytest.mark.parametrize("text", [*SOUND, *TAKEN_DRAWS])
def test_what_is_sound_is_not_reported(read, text: str) -> None:
    assert said(read, text) == []


def test_no_registry_is_told_from_one_without_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    for name in ("PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_NO_INDEX"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_INDEX_URL", "https://127.0.0.1:9/simple")
    with pytest.raises(grammar.Unreachable):
        grammar.library(tmp_path)
    monkeypatch.setenv("PIP_INDEX_URL", tmp_path.as_uri())
    with pytest.raises(RuntimeError, match="No matching distribution"):
        grammar.library(tmp_path)
