"""Every shipped T-SQL file and both generated scripts by Microsoft's grammar, where there is no SQL Server to ask."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from dmsjournal.schema import migrate, ownership
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

UNQUALIFIED = [
    "SELECT Journal FROM JournalFloor;",
    "SELECT f.Journal FROM dms.JournalFloor AS f INNER JOIN Document AS d ON d.DocumentId = f.ChangeVersion;",
    "UPDATE Document SET ContentVersion = 1;",
    "UPDATE wanted SET ContentVersion = 1 FROM dms.Document AS found;",
    "DELETE FROM DocumentCache;",
    "INSERT INTO dms.x (n) SELECT n FROM deleted;",
    "WITH one AS (SELECT 1 AS n) SELECT n FROM one INNER JOIN two ON two.m = one.n;",
    "EXEC enter_change;",
    "EXECUTE sp_getapplock @Resource = N'x', @LockMode = N'Shared';",
    "EXEC sys.sp_executesql N'DELETE FROM DocumentCache;';",
    "SELECT n FROM numbers(5) AS given;",
    "DECLARE @stamp bigint = NEXT VALUE FOR ChangeVersionSequence;",
    "CREATE TABLE x (n bigint);",
    "CREATE TABLE dms.x (n bigint REFERENCES y (n));",
    "CREATE INDEX IX ON x (n);",
    "CREATE PROCEDURE p AS SELECT 1;",
    "CREATE TRIGGER dms.t ON Document AFTER INSERT AS SELECT 1;",
    "ALTER TABLE x ADD n bigint;",
    "DROP VIEW ResourceChange;",
    "TRUNCATE TABLE x;",
    "GRANT SELECT ON Document TO reader;",
    "SELECT OBJECT_ID(N'Document');",
]
QUALIFIED = [
    "WITH one AS (SELECT 1 AS n) DELETE FROM one;",
    "UPDATE d SET ContentVersion = 1 FROM dms.Document AS d;",
    "CREATE TABLE #x (n bigint);\nINSERT INTO #x (n) SELECT DocumentId FROM dms.Document;",
    "CREATE TRIGGER dms.t ON dms.Document AFTER INSERT AS INSERT INTO dms.x (n) SELECT DocumentId FROM inserted;",
    "DECLARE @x TABLE (n bigint);\nINSERT INTO @x (n) SELECT value FROM OPENJSON(N'[1]');",
    "SELECT OBJECT_ID(N'dms.Document'), OBJECT_ID(N'sys.tables');",
]

LOCKED = "DECLARE @status int;\nEXEC @status = sys.sp_getapplock @Resource = N'a', @LockMode = N'Shared'"
NO_TRANSACTION = "IF @status = -999\n    THROW 50008, N'no transaction', 1;"
REFUSED_BY_THE_SERVER = [
    "DELETE FROM dms.Document OUTPUT deleted.DocumentId WHERE DocumentId = 1;",
    "INSERT INTO dms.DocumentCache (DocumentId) OUTPUT inserted.DocumentId VALUES (1);",
    "UPDATE e SET ChildDocumentId = 1 OUTPUT inserted.ChildDocumentId FROM dms.ReferenceEdge AS e;",
    "WITH one AS (SELECT DocumentId FROM dms.Document) SELECT DocumentId FROM one WITH (UPDLOCK);",
    "SELECT name FROM sys.objects WITH (HOLDLOCK);",
    f"{LOCKED};",
    f"{LOCKED};\nIF @status < 0\n    THROW 50005, N'no lock', 1;",
    f"{LOCKED};\n{NO_TRANSACTION}",
    f"{LOCKED};\nIF @status NOT IN (0, 1)\n    THROW 50005, N'no lock', 1;",
    "EXEC sys.sp_getapplock @Resource = N'a', @LockMode = N'Shared';",
    "SELECT o.name FROM sys.objects AS o WHERE LOWER(o.name) = N'identitychangeevent';",
    "SELECT UPPER(type_desc) AS type FROM sys.objects;",
    "SELECT o.name FROM sys.objects AS o INNER JOIN dms.AdoptionBefore AS b ON o.name = b.Name;",
    "SELECT t.name FROM #t AS t INNER JOIN @e AS e ON e.table_name = t.name;",
    "SET NOCOUNT ON;\nSELECT 1 AS one;",
    "SELECT a.DocumentId FROM dms.Document AS a INNER LOOP JOIN dms.DocumentCache AS b ON b.DocumentId = a.DocumentId;",
    "SELECT DocumentId FROM dms.Document WHERE ContentVersion = 9223372036854775807;",
    "SELECT CASE WHEN DocumentId < -9223372036854775808 THEN 1 ELSE 0 END AS low FROM dms.Document;",
    "SELECT HAS_PERMS_BY_NAME(DB_NAME(), N'DATABASE', N'CREATE TABLE') AS may;",
    "SELECT STRING_AGG(t.TableName, N', ') AS names FROM dms.TrackedTable AS t;",
    "SELECT COUNT(*) AS n FROM @w AS w INNER JOIN dms.Document AS d WITH (UPDLOCK) ON d.DocumentId = w.DocumentId;",
    "SELECT n FROM (SELECT DocumentId AS n FROM dms.Document ORDER BY DocumentId) AS ordered;",
    "CREATE PROCEDURE dms.p AS\nBEGIN\n    SET NOCOUNT ON;\n    DELETE FROM dms.Lease;\nEND;",
    "CREATE PROCEDURE dms.p AS\nBEGIN\n    EXEC dms.q;\n    SET ROWCOUNT 0;\nEND;",
    "CREATE PROCEDURE dms.p AS\nBEGIN\n    SET ROWCOUNT 2;\n    DELETE FROM dms.Lease;\nEND;",
    "CREATE TRIGGER dms.t ON dms.Document AFTER UPDATE AS\nBEGIN\n    IF UPDATE(KeyValues)\n        SET ROWCOUNT 0;\n"
    "    DELETE FROM dms.Lease;\nEND;",
]
TAKEN_BY_THE_SERVER = [
    "INSERT INTO dms.Document (ResourceKeyId) OUTPUT inserted.DocumentId INTO @ids (id) VALUES (1);",
    "DELETE e OUTPUT deleted.ChangeVersion FROM dms.KeyChangeEvent AS e;",
    "SELECT DocumentId FROM dms.Document WITH (UPDLOCK, HOLDLOCK);",
    f"{LOCKED};\n{NO_TRANSACTION}\nIF @status NOT IN (0, 1)\n    THROW 50005, N'no lock', 1;",
    f"{LOCKED}, @LockOwner = N'Session';\nSELECT CASE WHEN @status IN (0, 1) THEN 1 ELSE 0 END AS alone;",
    "SELECT LOWER(o.name COLLATE Latin1_General_100_BIN2) AS name FROM sys.objects AS o;",
    "SELECT LOWER(CAST(x.DocumentUuid AS varchar(36))) AS id FROM dms.x;",
    "CREATE PROCEDURE dms.p AS\nBEGIN\n    SET NOCOUNT ON;\nEND;",
    "SELECT o.name FROM sys.objects AS o INNER JOIN dms.AdoptionBefore AS b ON o.name = b.Name COLLATE Latin1_General_100_BIN2;",
    "SELECT o.name FROM sys.objects AS o INNER JOIN sys.schemas AS s ON s.name = o.name WHERE o.name = N'x';",
    "DECLARE @most bigint = 9223372036854775807;\nSELECT 1 AS one WHERE @most > CAST(9223372036854775806 AS bigint);",
    "SELECT HAS_PERMS_BY_NAME(QUOTENAME(DB_NAME()), N'DATABASE', N'CREATE TABLE') AS may;",
    "SELECT STRING_AGG(CAST(t.TableName AS nvarchar(max)), N', ') AS names FROM dms.TrackedTable AS t;",
    "SELECT COUNT(*) AS n FROM (SELECT TOP (9) d.DocumentId FROM @w AS w INNER JOIN dms.Document AS d WITH (UPDLOCK)"
    " ON d.DocumentId = w.DocumentId ORDER BY w.DocumentId) AS ordered;",
    "IF EXISTS (SELECT * FROM @w AS w INNER JOIN dms.Document AS d WITH (UPDLOCK) ON d.DocumentId = 1)\n    PRINT N'one';",
    "CREATE TRIGGER dms.t ON dms.Document AFTER UPDATE AS\nBEGIN\n    IF NOT EXISTS (SELECT * FROM inserted)\n        RETURN;\n"
    "    SET ROWCOUNT 0;\n    DELETE FROM dms.Lease;\nEND;",
]
CASCADE = "CREATE TABLE dms.{0} (n int CONSTRAINT FK_{0} FOREIGN KEY REFERENCES dms.{1} (n) ON DELETE CASCADE{2});"
TWO_PATHS = [
    CASCADE.format("b", "a", "")
    + CASCADE.format("c", "a", "")
    + CASCADE.format("d", "b", ", m int FOREIGN KEY REFERENCES dms.c (n) ON DELETE CASCADE"),
    CASCADE.format("b", "a", ", m int FOREIGN KEY REFERENCES dms.a (n) ON UPDATE SET NULL"),
    CASCADE.format("a", "a", ""),
    CASCADE.format("b", "a", "") + "ALTER TABLE dms.a ADD CONSTRAINT k FOREIGN KEY (m) REFERENCES dms.b (n) ON DELETE CASCADE;",
]
ONE_PATH = CASCADE.format("b", "a", "") + CASCADE.format("c", "b", ", m int FOREIGN KEY REFERENCES dms.a (n)")


def batches() -> Iterator[grammar.Batch]:
    """The files as they are run, with a lock timeout and with variables for binds; the scripts; what is to be refused or not."""
    for name, text in FILES.items():
        text = ownership.with_trust("sqlserver", text.replace("{lock_timeout}", "5000"), ["schema dms", "object dms.it's"])
        yield from grammar.split(name, grammar.bound(text) if re.search("/(queries|spark)/", name) else text)
    for name, (revision, down) in SCRIPTS.items():
        yield from grammar.split(name, migrate.script("sqlserver", revision, down=down))
    for text in (
        *BROKEN,
        *SOUND,
        *REFUSED_DRAWS,
        *TAKEN_DRAWS,
        *UNQUALIFIED,
        *QUALIFIED,
        *REFUSED_BY_THE_SERVER,
        *TAKEN_BY_THE_SERVER,
        *TWO_PATHS,
        ONE_PATH,
    ):
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


@pytest.mark.acceptance("104")
def test_every_name_has_its_schema(read) -> None:
    """Else it would be looked for in the default schema of whoever runs it, where others may have made it."""
    found = [str(problem) for name in (*FILES, *SCRIPTS) for parsed in read[name] for problem in grammar.unqualified_names(parsed)]
    assert found == []


def test_nothing_is_written_that_a_server_refuses_or_answers_unseen(read) -> None:
    found = [str(problem) for name in FILES for parsed in read[name] for problem in grammar.server_problems(parsed)]
    assert found == []


@pytest.mark.parametrize("text", REFUSED_BY_THE_SERVER)
def test_what_a_server_refuses_or_answers_unseen_is_reported(read, text: str) -> None:
    assert [found for parsed in read[text] for found in (*grammar.problems(parsed), *grammar.server_problems(parsed))] != []


@pytest.mark.parametrize("text", TAKEN_BY_THE_SERVER)
def test_what_a_server_takes_is_not_reported(read, text: str) -> None:
    assert [found for parsed in read[text] for found in (*grammar.problems(parsed), *grammar.server_problems(parsed))] == []


def test_no_table_is_reached_by_two_cascades(read) -> None:
    tables = [parsed for name in FILES if "/tables/" in name for parsed in read[name]]
    assert grammar.cascade_problems(tables) == []
    assert any("CASCADE" in parsed.batch.text for parsed in tables)


@pytest.mark.parametrize("text", TWO_PATHS)
def test_two_cascades_to_one_table_are_reported(read, text: str) -> None:
    assert grammar.cascade_problems(read[text]) != []


def test_one_cascade_to_each_table_is_not_reported(read) -> None:
    assert grammar.cascade_problems(read[ONE_PATH]) == []


@pytest.mark.parametrize("text", UNQUALIFIED)
def test_a_name_without_its_schema_is_reported(read, text: str) -> None:
    [(problem, *_)] = [grammar.unqualified_names(parsed) for parsed in read[text]]
    assert problem.message.endswith("has no schema.")


@pytest.mark.parametrize("text", QUALIFIED)
def test_what_a_statement_names_itself_needs_no_schema(read, text: str) -> None:
    assert [problem for parsed in read[text] for problem in (*grammar.unqualified_names(parsed), *parsed.errors)] == []


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
