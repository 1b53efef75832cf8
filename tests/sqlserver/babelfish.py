"""Babelfish for PostgreSQL speaks T-SQL, and stands in for SQL Server where there is none. What it cannot run is listed here, once.

STAND_INS are procedures of ours that look into SQL Server's catalog: each is replaced, in the tests alone, by one with the same
result. EDITS are smaller.
"""

import re

from dmsjournal import statements

STAND_INS = {
    # sys.sequences is empty there, and WITH EXECUTE AS OWNER is not supported.
    "procedures/newest_stamp.v1": """
CREATE PROCEDURE dms.newest_stamp @newest bigint OUTPUT AS
BEGIN
    SET NOCOUNT ON;
    SELECT @newest = last_value FROM dms.ChangeVersionSequence;
END;
""",
    # CURRENT_TRANSACTION_ID() is missing there.
    "procedures/this_transaction.v1": """
CREATE PROCEDURE dms.this_transaction @transaction_id bigint OUTPUT AS
BEGIN
    SET NOCOUNT ON;
    SELECT @transaction_id = CAST(txid_current() AS bigint);
END;
""",
    # sys.dm_tran_locks is missing there, and the names of locks are hashed: each floor from the newest down is tried, while there
    # are locks that were not found. A session's own lock is no conflict to it, so its own floor is looked at by itself.
    "procedures/oldest_floor.v1": """
CREATE PROCEDURE dms.oldest_floor @oldest bigint OUTPUT AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @floor bigint, @left int, @name nvarchar(64);
    SET @oldest = NULL;
    SELECT @left = COUNT(DISTINCT CAST(classid AS bigint) * 4294967296 + CAST(objid AS bigint)) FROM pg_locks
    WHERE locktype = 'advisory' AND objsubid = 2 AND mode = 'ShareLock';
    EXEC dms.newest_stamp @floor OUTPUT;
    WHILE @left > 0 AND @floor >= 0
    BEGIN
        SET @name = N'dmsjournal:' + CAST(@floor AS nvarchar(20));
        IF APPLOCK_MODE(N'public', @name, N'Transaction') = N'Shared'
           OR APPLOCK_TEST(N'public', @name, N'Exclusive', N'Transaction') = 0
        BEGIN
            SET @oldest = @floor;
            SET @left = @left - 1;
        END;
        SET @floor = @floor - 1;
    END;
END;
""",
}

# It says that it is SQL Server 2014 at compatibility level 120; what was asked for is there all the same (OPENJSON).
EDITS = {
    "tables/ChangeVersionSequence.v1": {"CACHE 50": "CACHE 1"},  # each session has a cache of its own there: PostgreSQL's
    "checks/installable": {
        "CAST(SERVERPROPERTY(N'ProductVersion') AS nvarchar(128))": "N'15.0.2000.5'",
        "SELECT compatibility_level FROM": "SELECT 150 FROM",
    },
}

# DBCC CHECKIDENT is not supported there.
FROM_ONE = [f"SELECT setval('dms.{table}_{table}id_seq', 1, false)" for table in ("resourcekey", "document")]

# OPENJSON does not resolve the escapes of a text that it takes out of JSON.
_ESCAPED = re.compile(r"\blisted\.(key_values|body)\b")
_BACKSLASH, _QUOTE, _KEPT = "N'\\'", "N'\"'", "NCHAR(57344)"


def _resolved(found: re.Match[str]) -> str:
    pairs = f"REPLACE(listed.{found[1]}, N'\\\\', {_KEPT})"
    return f"REPLACE(REPLACE({pairs}, N'\\\"', {_QUOTE}), {_KEPT}, {_BACKSLASH})"


_shipped = statements.text_of


def text_of(engine: str, name: str) -> str:
    """The text of a file, or of what stands in for it."""
    text = _shipped(engine, name)
    if engine != "sqlserver":
        return text
    for old, new in EDITS.get(name, {}).items():
        assert old in text, f"{name} has no {old}"
        text = text.replace(old, new)
    return _ESCAPED.sub(_resolved, STAND_INS.get(name, text))
