"""SQL Server through pyodbc or mssql-python."""

from __future__ import annotations

import importlib.util
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy import exc
from sqlalchemy.dialects import mssql

from dmsjournal.database import columns, jdbc, sql
from dmsjournal.database.engine import PoolBounds, ScriptOptions
from dmsjournal.database.revisions import REVISION
from dmsjournal.database.urls import shown
from dmsjournal.errors import (
    DatabaseRefused,
    InvalidRequest,
    JournalError,
    NotInstalled,
    Unavailable,
    UnsupportedCapability,
    near_matches,
)
from dmsjournal.util.json import canonical_json, json_text
from dmsjournal.util.json import rows as json_rows
from dmsjournal.util.printable import without_secrets

if TYPE_CHECKING:
    import pyarrow as pa

NAME, TITLE, DIALECT, EVENT_SOURCE = "sqlserver", "SQL Server", "mssql", "sqlserver"
EXAMPLE = "mssql+pyodbc://user:password@host:port/database"
DRIVERS = ("pyodbc", "mssqlpython")  # the first is meant where a URL names none
DRIVER_PACKAGES = ("pyodbc", "mssql_python")

LARGEST_BATCH = 2_000  # of a prune or an adoption: with a row a page, below the 5,000 locks on an index that lock the table

ENDS_FAILED_TRANSACTIONS = True
HAS_COPY = False
HAS_ONE_SNAPSHOT_FOR_ALL = False
SPLITS_PARTITIONS = False
TRANSACTION = ("BEGIN TRANSACTION;", "COMMIT;\nGO")
TRACK_NOTE = "the server refuses OUTPUT without INTO on {table} (334); columns of text, ntext, image and rowversion are not watched"
FILLED_INDEXES: dict[str, tuple[str, str, str]] = {}  # the migration makes the index

JDBC_DRIVER = "com.microsoft.sqlserver:mssql-jdbc:13.6.2.jre11"
_JDBC_SETTINGS = {  # ODBC's words, and the JDBC driver's for them
    "app": "applicationName",
    "applicationintent": "applicationIntent",
    "encrypt": "encrypt",
    "hostnameincertificate": "hostNameInCertificate",
    "multisubnetfailover": "multiSubnetFailover",
    "trustservercertificate": "trustServerCertificate",
}
_TRUTHS = {"yes": "true", "no": "false", "mandatory": "true", "optional": "false"}  # ODBC's words

# What is adopted, and a schema for its model.
MODEL = ("checks/schema", "tables/ResourceKey.v1", "tables/Document.v1", "tables/DocumentCache.v1", "tables/ReferenceEdge.v1")
ADOPTER = (  # what to do where a right is missing, for a dry run too: the plan is made beside a schema that is rolled back
    "adopt, with --dry-run too, as a user with CONTROL on schema dms, who may CREATE SCHEMA, CREATE TABLE, CREATE VIEW and "
    "CREATE PROCEDURE in the database"
)
HELD = "X"  # the lock that holds writers while an adoption brings the triggers
DEFAULT_SCHEMA = "dbo"
FIRST_CHECKS: tuple[str, ...] = ()  # before a migration's own
# Nothing runs after an error: it has ended the transaction, or, where XACT_ABORT does not count (RAISERROR, a batch that cannot be
# compiled), it is ended here.
SEPARATOR = "GO\nIF @@ERROR <> 0 AND @@TRANCOUNT > 0 ROLLBACK;\nIF @@TRANCOUNT = 0 SET NOEXEC ON;\nGO"
SCRIPT_OPTIONS: ScriptOptions = {
    "dialect_opts": {"paramstyle": "qmark"},
    "mssql_batch_separator": SEPARATOR,
}  # of Alembic's own statements
SCRIPT_BEGINS, SCRIPT_ENDS = "SET XACT_ABORT ON;\nSET QUOTED_IDENTIFIER ON;\nSET ANSI_NULLS ON;\nGO", "SET NOEXEC OFF;\nGO"

COMPARES_TWINS = False  # another user's function has a schema in its name: queries/schema/verify_objects.sql looks for one

_PACKAGES = {"pyodbc": "'dmsjournal[sqlserver]'", "mssqlpython": "mssql-python"}
_LOGIN_SECONDS = 10
_LOGIN_TIMEOUT = 103  # SQL_ATTR_LOGIN_TIMEOUT
_NAMED = mssql.dialect(paramstyle="named")  # type: ignore[no-untyped-call]
_WITH_MARKS = mssql.dialect(paramstyle="qmark")  # type: ignore[no-untyped-call]
_MODULE = re.compile(r"^CREATE (?:OR ALTER )?(TRIGGER|PROCEDURE|VIEW|FUNCTION) dms\.(\w+)", re.MULTILINE)
_ORDER = re.compile(r"sp_settriggerorder @triggername = N'dms\.(\w+)', @order = N'(\w+)', @stmttype = N'(\w+)'")
_MARK = re.compile(
    r"--[^\n]*|/\*.*?\*/|'[^']*'|\"[^\"]*\"|\[[^]]*]|(\?)", re.DOTALL
)  # a parameter's, or what may hold a mark that is none
_HEAD = re.compile(r"^(?:CREATE\s+OR\s+ALTER|CREATE|ALTER)\s+(?=TRIGGER|PROCEDURE|VIEW|FUNCTION)", re.MULTILINE)
_OURS = range(50001, 50012)  # what sql/sqlserver throws
_OURS_BY_WORDS = {  # mssql-python keeps the number to itself
    50001: "the horizon cannot be read in a",
    50002: "a document cannot (be replaced|change its)",
    50003: "dms.entered_at holds",
    50004: "the horizon cannot be read on a",
    50005: "the lock of a writer|a lock on keys|the lock on consumers",
    50006: "dmsjournal needs|the user may not|schema dms (holds objects|is not all of)|the database has a DDL|an adoption of|"
    "dms.alembic_version is no|dms.Document is not ready|option ",
    50007: "consumer .* belongs to user",
    50008: "TR_Document_Stamp did not fire|TR_Document_Names does not know",
    50009: "another migration is on its way",
    50010: "table .* cannot be tracked",
    50011: "table .* (is not there|is tracked already|is not tracked|has no column)|resource .* is that of table",
}
# What Microsoft's driver and, at the end, SQLAlchemy know after the question mark: the driver drops anything else without a word.
# Of the driver's page "DSN and Connection String Keywords and Attributes".
# fmt: off
_OPTIONS = [
    "Addr", "Address", "AnsiNPW", "APP", "ApplicationIntent", "AttachDBFileName", "Authentication", "AutoTranslate",
    "ClientCertificate", "ClientKey", "ColumnEncryption", "ConcatNullYieldsNull", "ConnectRetryCount", "ConnectRetryInterval",
    "Database", "Description", "Driver", "DSN", "Encrypt", "Failover_Partner", "FailoverPartnerSPN", "FileDSN",
    "GetDataExtensions", "HostnameInCertificate", "IpAddressPreference", "KeepAlive", "KeepAliveInterval",
    "KeystoreAuthentication", "KeystoreLocation", "KeystorePrincipalId", "KeystoreSecret", "Language", "LongAsMax",
    "MARS_Connection", "MultiSubnetFailover", "Net", "Network", "PacketSize", "PWD", "QueryLog_On", "QueryLogFile",
    "QueryLogTime", "QuotedId", "Regional", "Replication", "RetryExec", "SaveFile", "Server", "ServerCertificate", "ServerSPN",
    "StatsLog_On", "StatsLogFile", "TransparentNetworkIPResolution", "Trusted_Connection", "TrustServerCertificate", "UID",
    "UseFMTONLY", "WSID", "ansi", "autocommit", "odbc_connect", "odbc_autotranslate", "unicode_results",
]
# fmt: on
_RETRY = {1205, 1222, 3960, 3961, 10928, 10929, 40197, 40501, 40613, 49918, 49919, 49920, 50005}
_LOCKED = {1205, 1222, 50009}
_MISSING = {207, 208, 2760, 2812}
_WRONG_LOGIN = {911, 4060, 18452, 18456, 40615}
_DENIED = {229, 230, 262, 297, 300, 1088, 3701, 15151, 15247}  # the middle ones: or it does not exist
_WRONG_VALUE = {220, 242, 245, 248, 8114, 8115, 8152, 2628}


def engine_for(url: sa.URL, seconds: float | None, bounds: PoolBounds) -> sa.Engine:
    """See connect.engine_for. Raises UnsupportedCapability where the driver is missing, naming what to install."""
    driver = url.get_driver_name()
    if driver == "pyodbc":
        url = _with_odbc_driver(url)
    try:
        engine = sa.create_engine(
            url,
            isolation_level="READ COMMITTED",
            pool_pre_ping=True,
            paramstyle="qmark",  # mssql-python's own is another one, for which write_nulls would not look
            connect_args={"timeout": _LOGIN_SECONDS} if driver == "pyodbc" else {"attrs_before": {_LOGIN_TIMEOUT: _LOGIN_SECONDS}},
            **bounds,
        )
    except ModuleNotFoundError as error:
        raise UnsupportedCapability(f"the driver {error.name} is missing", f"pip install {_PACKAGES[driver]}") from error
    text = sql.query(NAME, "database/connect").text

    def prepare(connection: Any, _: object) -> None:
        cursor = connection.cursor()
        cursor.execute(text)
        cursor.close()
        connection.commit()

    sa.event.listen(engine, "connect", prepare)
    write_nulls(engine)
    if seconds is not None:  # of each statement: both drivers have it as an attribute of the connection
        sa.event.listen(engine, "connect", lambda connection, _: setattr(connection, "timeout", math.ceil(seconds)))
    return engine


def cut_off(connection: Any) -> None:
    """See engine.Engine.cut_off: the drivers do not give their sockets away."""


def write_nulls(engine: sa.Engine) -> None:
    """Has the engine write NULL into a statement where a parameter is None.

    For a parameter without a value both drivers ask the server for its type (SQLDescribeParam), a round trip each time; pyodbc asks
    whatever setinputsizes says. Our statements give each parameter its type (DECLARE, CAST), and NULL gets it there, too.
    """
    sa.event.listen(engine, "before_cursor_execute", _with_written_nulls, retval=True)


def _with_written_nulls(_: object, __: object, statement: str, parameters: Any, ___: object, is_many: bool) -> tuple[str, Any]:
    if is_many or not isinstance(parameters, tuple) or None not in parameters:
        return statement, parameters
    written = _write_nulls(statement, tuple(value is None for value in parameters))
    return written, tuple(value for value in parameters if value is not None)


@lru_cache(maxsize=256)
def _write_nulls(statement: str, are_null: tuple[bool, ...]) -> str:
    remaining = iter(are_null)
    return _MARK.sub(lambda found: "NULL" if found[1] and next(remaining) else found[0], statement)


@contextmanager
def own_names_kept(conn: sa.Connection) -> Iterator[None]:
    """See postgres.own_names_kept: a session has no path here that a migration would have to set."""
    yield


def with_fixed_names(engine: sa.Engine) -> sa.Engine:
    """See postgres.with_fixed_names. Here every name in sql/sqlserver has its schema, and none is looked up in the user's own."""
    return engine


@contextmanager
def arrow_source(pool: sa.Engine) -> Iterator[Callable[[sa.TextClause, Mapping[str, object]], pa.Table]]:
    """See postgres.arrow_source. Of the drivers, mssql-python alone gives Arrow."""
    if pool.url.get_driver_name() != "mssqlpython":
        raise UnsupportedCapability(f"rows as Arrow through {pool.url.get_driver_name()}", "write the URL as mssql+mssqlpython://…")

    def rows_of(statement: sa.TextClause, binds: Mapping[str, object]) -> pa.Table:
        compiled = statement.compile(dialect=_WITH_MARKS)
        cursor = connection.connection.cursor()
        cursor.execute(str(compiled), [binds[name] for name in compiled.positiontup or ()])
        return cursor.arrow()  # this driver's own

    with pool.connect() as connection:
        yield rows_of


def copying(url: sa.URL, begin: Sequence[str]) -> AbstractContextManager[Callable[[str], Iterator[pa.RecordBatch]]]:
    """See Engine.copying: its default driver gives no Arrow."""
    raise UnsupportedCapability("a stream of Arrow of SQL Server", "read it over JDBC")


def _with_odbc_driver(url: sa.URL) -> sa.URL:
    """The URL with an ODBC driver: the one that it names, an installed one, or the package mssql-python-odbc's."""
    named = {name.lower(): value for name, value in url.query.items()}
    if "driver" not in named or re.search(r"odbc driver \d|msodbcsql", str(named["driver"]).lower()):
        _refuse_unknown(url)
    try:
        import pyodbc
    except ImportError as error:
        raise UnsupportedCapability(
            f"pyodbc cannot be loaded ({error})",
            "pip install 'dmsjournal[sqlserver]' and install unixODBC, or write the URL as mssql+mssqlpython://…",
        ) from error
    if "driver" in named:
        return url
    installed = sorted(name for name in pyodbc.drivers() if re.fullmatch(r"ODBC Driver \d+ for SQL Server", name))
    driver = installed[-1] if installed else _packaged_driver()
    if driver is None:
        raise UnsupportedCapability(
            "no ODBC driver for SQL Server is installed",
            "pip install mssql-python-odbc, or install Microsoft's ODBC Driver 18, or write the URL as mssql+mssqlpython://…",
        )
    return url.update_query_dict({"driver": driver})


def _refuse_unknown(url: sa.URL) -> None:
    """Raises InvalidRequest for an option that nobody knows."""
    known = {name.lower() for name in _OPTIONS}
    for name in url.query:
        if name.lower() not in known:
            raise InvalidRequest("url", shown(url), f"{name} is no option of the ODBC driver's: {near_matches(name, _OPTIONS)}")


def _packaged_driver() -> str | None:
    """The path of the library that the package mssql-python-odbc carries."""
    found = importlib.util.find_spec("mssql_python_odbc")
    if found is None or not found.submodule_search_locations:
        return None
    for folder in found.submodule_search_locations:
        for name in ("libmsodbcsql*.so*", "libmsodbcsql*.dylib", "msodbcsql*.dll"):
            for path in sorted(Path(folder).rglob(name)):
                if _fits_here(path):
                    return str(path)
    return None


def _fits_here(path: Path) -> bool:
    """Whether a library of the package is for this machine: it carries one for each distribution and processor."""
    import ctypes

    try:
        ctypes.CDLL(str(path))
    except OSError:
        return False
    return True


def is_pooled(conn: sa.Connection) -> bool:
    """See postgres.is_pooled. No pooler of SQL Server's gives one session to two connections at a time."""
    return False


def is_retried(error: exc.DBAPIError) -> bool:
    """False: an error has rolled the whole transaction back, whatever savepoint it met."""
    return False


def is_unreadable(error: exc.DBAPIError) -> bool:
    """Whether the server cannot give a value that a statement reads: it keeps JSON as text, so it always can."""
    return False


def violated(error: exc.DBAPIError) -> str | None:
    """The name of the constraint that refused a row, as the message has it."""
    found = re.search(r"constraint ['\"]([^'\"]+)['\"]", _number_and_message(error)[1])
    return found[1].lower() if found else None


def is_locked_out(error: exc.DBAPIError) -> bool:
    """Whether a lock was not to be had."""
    number, message = _number_and_message(error)
    return number in _LOCKED or "lock request time out" in message.lower() or "lock timeout" in message.lower()


def is_out_of_locks(error: exc.DBAPIError) -> bool:
    """Whether the server has no memory for another lock: a transaction that takes that many fails each time."""
    return _number_and_message(error)[0] == 1204


def is_missing(error: exc.DBAPIError) -> bool:
    """Whether a table, column, procedure or the like is not there."""
    return _number_and_message(error)[0] in _MISSING


def is_timed_out(error: exc.DBAPIError) -> bool:
    """Whether a lock was waited for in vain."""
    number, message = _number_and_message(error)
    return number in (1222, 50005) or (number not in _LOCKED and is_locked_out(error) and "deadlock" not in message.lower())


def is_commit_unknown(error: exc.DBAPIError) -> bool:
    """Whether the error of a COMMIT leaves open what became of the transaction: the connection is lost."""
    return error.connection_invalidated


def as_journal_error(error: exc.DBAPIError) -> JournalError:
    """The driver's error as ours, by its number, and by its words where a driver or a compatible server hides the number."""
    number, message = _number_and_message(error)
    low = message.lower()
    words = low if number is None or number > 60_000 else ""  # what no number tells: of a compatible server's, above SQL Server's
    code = None if number is None else str(number)
    said, _, remedy = message.partition(". ")
    if number in (50001, 50004, 50010):
        return UnsupportedCapability(said, remedy)
    if number == 50011:
        return InvalidRequest("table", said, remedy)
    if number in (50002, 50003):
        return InvalidRequest("statement", said, remedy)
    if number in _RETRY or "deadlock" in low or "update conflict" in low or "could not serialize" in low or is_locked_out(error):
        return Unavailable(said, remedy if number in _OURS else "try again")
    if number in _OURS:
        return DatabaseRefused(code, said, remedy, refused="right" if number == 50007 else None)
    if number in _DENIED or "permission was denied" in words or "permission denied" in words:
        return DatabaseRefused(code, message, "grant the user what docs/dba/sqlserver.md lists", refused="right")
    if number in _MISSING or re.search(r"invalid (object|column) name|could not find stored procedure|does not exist", words):
        return _missing(code, message, low)
    if number in _WRONG_LOGIN or re.search(r"login failed|password authentication failed|cannot open database", low):
        return DatabaseRefused(code, message, "check the user, the password and the database in the URL", refused="login")
    if "failed to load the driver" in low:  # mssql-python's own, whose libraries of the system are missing
        return UnsupportedCapability(
            "mssql-python cannot load its ODBC driver",
            "install the libraries libltdl and krb5 (Debian: apt-get install libltdl7 libkrb5-3)",
        )
    if "connection string attribute" in low:
        return InvalidRequest("url", "***", f"its options are not the driver's ({message})")
    if "encryption not supported" in low:
        return DatabaseRefused(code, message, "give it a certificate; in a test, add ?Encrypt=no to the URL", refused="login")
    if "certificate" in low:
        return DatabaseRefused(
            code,
            message,
            "install the server's certificate authority; in a test, add ?TrustServerCertificate=yes to the URL",
            refused="login",
        )
    if "ck_document" in low:
        return InvalidRequest("document", message, "keep its JSON to what SQL Server's ISJSON takes: nested 128 deep at most")
    if "overflow error converting identity" in low:  # other overflows have its number, too
        return DatabaseRefused(code, message, "free ids as docs/dba/costs.md, Resource ids, says")
    if number in _WRONG_VALUE or isinstance(error, exc.DataError):
        return InvalidRequest("value", message, "the database cannot hold it")
    if "query timeout" in low:
        return DatabaseRefused("HYT00", message, "raise the query timeout of the program, or ask for less at once")
    if re.search(r"login timeout|tcp provider|communication link|unable to connect|not found or not accessible", low):
        return Unavailable(message, "check the host and the port in the URL; if they are right, try again when it is up")
    if re.search(r"can't open lib|data source name not found|im00\d", low):
        return UnsupportedCapability(message, "name an ODBC driver that is installed: ?driver=ODBC+Driver+18+for+SQL+Server")
    if error.connection_invalidated:
        return Unavailable(message)
    return DatabaseRefused(code, message, "see the cause")


def message_of(error: exc.DBAPIError) -> str:
    """What the server said, in one line."""
    return _number_and_message(error)[1]


def _missing(code: str | None, message: str, low: str) -> JournalError:
    if "database" in low and "does not exist" in low:
        return DatabaseRefused(code, message, "check the database in the URL", refused="login")
    if "login" in low or "role" in low:
        return DatabaseRefused(code, message, "check the user, the password and the database in the URL", refused="login")
    if re.match(r"(invalid object name|could not find stored procedure) '(?!dms\.)", low):
        return DatabaseRefused(code, message, "it is not dmsjournal's: mend the trigger or procedure of yours that names it")
    return NotInstalled(None, REVISION)


def defined(text: str) -> list[tuple[str, str, str | None]]:
    """What a file of sql/ defines, as (kind, name, definition as `comparable` gives it); None where the name alone is compared."""
    for batch in sql.batches(text):  # the server keeps the batch, not the file
        if module := _MODULE.search(batch):
            kind = {"TRIGGER": "trigger", "VIEW": "view"}.get(module[1], "routine")
            return [(kind, module[2].lower(), comparable(kind, batch))]
    bare = re.sub(r"--[^\n]*", "", text)
    found: list[tuple[str, str, str | None]] = []
    found += [("table", name.lower(), None) for name in re.findall(r"CREATE TABLE dms\.(\w+)", bare)]
    found += [("index", name.lower(), None) for name in re.findall(r"CREATE (?:UNIQUE )?INDEX (\w+)", bare)]
    found += [("constraint", name.lower(), None) for name in re.findall(r"CONSTRAINT (\w+)", bare)]
    found += [("order", name.lower(), f"{place} for {event}".lower()) for name, place, event in _ORDER.findall(bare)]
    found += [("sequence", name.lower(), "bigint increment 1 no cycle") for name in re.findall(r"CREATE SEQUENCE dms\.(\w+)", bare)]
    return found


def comparable(kind: str, definition: str) -> str:
    """A definition, shipped or as the server tells it, in a form in which the two are equal: the text from its CREATE on.

    The server keeps it as it was written, but for ALTER and CREATE OR ALTER; a compatible one leaves comments before it out.
    """
    text = definition.replace("\r\n", "\n").strip()
    found = _HEAD.search(text)
    return f"CREATE {text[found.end() :]}" if found else text


def replaced(text: str) -> str:
    """A file that creates a procedure, trigger or view, so that it replaces it where it is. Rights on procedures and views stay."""
    module = _MODULE.search(text)
    if module and module[1] == "TRIGGER":  # a new one is enabled
        return f"DROP TRIGGER IF EXISTS dms.{module[2]};\nGO\n{text}"
    return re.sub(r"^CREATE (?=PROCEDURE|VIEW)", "CREATE OR ALTER ", text, count=1, flags=re.MULTILINE)


def temporary_view(text: str) -> str | None:
    """None: the server tells a view as it was written."""
    return None


def twins(text: str) -> list[str]:
    """None: see COMPARES_TWINS."""
    return []


def lock_timeout(text: str) -> str:
    """A lock timeout as the migrations' SQL takes it: milliseconds, -1 for ever."""
    found = re.fullmatch(r"(\d+)(ms|s|min)?", text)
    assert found is not None  # checked_lock_timeout
    milliseconds = int(found[1]) * {"ms": 1, "s": 1000, "min": 60_000, None: 1}[found[2]]
    return str(milliseconds or -1)


def as_model(text: str) -> str:
    """The text of a table's file, so that it makes the table beside the one that is there, in a schema of its own."""
    return re.sub(r"\bdms\b", "dms_adopting", text)


def _number_and_message(error: exc.DBAPIError) -> tuple[int | None, str]:
    """The server's number, where the driver gives it, and its first message without what drivers put around it."""
    text = " ".join(" ".join(str(argument) for argument in getattr(error.orig, "args", ()) or (error.orig,)).split())
    text = without_secrets(text)
    number = re.search(r"\((\d+)\) \(SQL\w+\)", text)
    message = re.sub(r"\s*\(\d+\) \(SQL\w+\).*$", "", text)
    message = re.sub(r"^.*?DDBC Error:\s*(?:\[Microsoft\])?", "", message)
    message = re.sub(r"^.*?(?:\[SQL Server\]|\[ODBC Driver \d+ for SQL Server\](?!\[))\s*", "", message)
    if number is None:
        return next((ours for ours, words in _OURS_BY_WORDS.items() if re.match(words, message)), None), message
    return int(number[1]) or None, message


def statement(name: str) -> sa.Executable:
    """The statement sql/sqlserver/queries/<name>.sql, its columns typed as PostgreSQL's driver gives them."""
    return columns.typed(sql.query(NAME, name))


def rows(values: list[object]) -> str:
    """Rows as a JSON parameter whose keys and bodies are text: the server keeps JSON as the text that it is given.

    Keys are canonical, so that equal keys are equal texts.
    """
    return json_rows([_with_text(row) if isinstance(row, dict) else row for row in values])


def _with_text(row: dict[str, Any]) -> dict[str, Any]:
    texts: dict[str, Any] = {}
    if row.get("key_values") is not None:
        texts["key_values"] = canonical_json(json_text(row["key_values"])).decode("utf-8")
    if row.get("body") is not None:
        texts["body"] = json_text(row["body"]).decode("utf-8")
    return row | texts


def savepoint(conn: sa.Connection) -> AbstractContextManager[object]:
    """Nothing: an error ends the transaction."""
    return nullcontext()


def begin_part(conn: sa.Connection) -> None:
    """See Engine.begin_part. Nothing is set here."""


def literal(clause: sa.ClauseElement) -> str:
    """A clause as T-SQL, its values written out."""
    return sql.literal(_NAMED, clause)


def resolved(url: sa.URL, conn: sa.Connection) -> sa.URL:
    """See Engine.resolved: ODBC adds nothing."""
    return url


def jdbc_options(url: sa.URL) -> dict[str, str]:
    """See spark.jdbc."""
    given = {name.lower(): str(value) for name, value in url.query.items() if name.lower() != "driver"}  # which is ODBC's
    settings = jdbc.translated({name: _TRUTHS.get(value.lower(), value) for name, value in given.items()}, _JDBC_SETTINGS)
    address = f"jdbc:sqlserver://{jdbc.host_of(url)}" + (f":{url.port}" if url.port else "")
    named = {"driver": "com.microsoft.sqlserver.jdbc.SQLServerDriver", "url": address, "databaseName": url.database or ""}
    # Spark prepares its session's first statement. Prepared, it would run inside sp_executesql, which takes back what it sets.
    return named | {"applicationName": "dmsjournal", "prepareMethod": "none"} | settings
