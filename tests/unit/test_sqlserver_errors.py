"""What SQL Server's drivers say, as errors of ours: mssql-python gives no number, so its words are read."""

import re
import sys
from unittest import mock

import pytest
import sqlalchemy as sa
from sqlalchemy import exc

import dmsjournal as dj
from dmsjournal.database import connect, sql, sqlserver
from tests.sqlserver.drivers import needs_libltdl, needs_unixodbc

THROWN = re.compile(r"THROW (\d+), N'((?:[^']|'')+)', 1")
THROWS = sorted(
    {(int(number), message.replace("''", "'")) for path in (sql.shipped("sql") / "sqlserver").rglob("*.sql")
     for number, message in THROWN.findall(path.read_text(encoding="utf-8")) if "roles" not in path.parts}
)  # fmt: skip


def as_pyodbc_says(number: int, message: str) -> Exception:
    source = "[42000] [Microsoft][ODBC Driver 18 for SQL Server][SQL Server]"
    return Exception("42000", f"{source}{message} ({number}) (SQLExecDirectW)")


def as_mssql_python_says(number: int, message: str) -> Exception:
    return Exception(f"Driver Error: Syntax error or access violation; DDBC Error: [Microsoft][SQL Server]{message}")


@pytest.mark.parametrize("says", [as_pyodbc_says, as_mssql_python_says])
@pytest.mark.parametrize(("number", "message"), THROWS)
def test_what_we_throw_comes_back_with_its_remedy(number: int, message: str, says) -> None:
    error = sqlserver.as_journal_error(exc.ProgrammingError("SELECT 1", {}, says(number, message)))
    said, _, remedy = message.partition(". ")
    assert said in str(error)
    assert remedy in str(error)
    assert "Microsoft" not in str(error)


@pytest.mark.parametrize("says", [as_pyodbc_says, as_mssql_python_says])
@pytest.mark.parametrize(
    ("number", "message", "kind"),
    [
        (1205, "Transaction (Process ID 52) was deadlocked on lock resources with another process.", dj.Unavailable),
        (1222, "Lock request time out period exceeded.", dj.Unavailable),
        (3960, "Snapshot isolation transaction aborted due to update conflict.", dj.Unavailable),
        (208, "Invalid object name 'dms.Document'.", dj.NotInstalled),
        (208, "Invalid object name 'audit.Log'.", dj.DatabaseRefused),  # of a user's trigger
        (2812, "Could not find stored procedure 'dms.horizon'.", dj.NotInstalled),
        (229, "The SELECT permission was denied on the object 'Document'.", dj.DatabaseRefused),
        (18456, "Login failed for user 'sa'.", dj.DatabaseRefused),
        (8115, "Arithmetic overflow error converting IDENTITY to data type smallint.", dj.DatabaseRefused),
    ],
)
def test_what_the_server_says(number: int, message: str, kind: type[dj.JournalError], says) -> None:
    assert type(sqlserver.as_journal_error(exc.ProgrammingError("SELECT 1", {}, says(number, message)))) is kind


def test_a_driver_that_cannot_be_loaded_is_no_refusal_of_the_server() -> None:
    says = Exception("Failed to load the driver. Please read the documentation (…) to install the required dependencies.")
    error = sqlserver.as_journal_error(exc.DBAPIError("connect", {}, says))
    assert type(error) is dj.UnsupportedCapability
    assert "libltdl" in str(error)


@pytest.mark.parametrize("says", [as_pyodbc_says, as_mssql_python_says])
def test_a_duplicate_key_is_told_from_another_refusal(says) -> None:
    duplicate = says(2627, "Violation of UNIQUE KEY constraint 'UX_Document_DocumentUuid'. Cannot insert duplicate key in object.")
    check = says(547, 'The INSERT statement conflicted with the CHECK constraint "CK_DocumentCache_DocumentJson".')
    theirs = says(547, 'The DELETE statement conflicted with the REFERENCE constraint "FK_theirs".')
    told = [sqlserver.violated(exc.IntegrityError("INSERT", {}, each)) for each in (duplicate, check, theirs)]
    assert told == ["ux_document_documentuuid", "ck_documentcache_documentjson", "fk_theirs"]
    assert "ISJSON" in str(sqlserver.as_journal_error(exc.IntegrityError("INSERT", {}, check)))


@pytest.mark.parametrize("option", ["Encryp", "trustservercertificat", "TDS_Version"])
def test_an_option_that_the_driver_would_drop_is_refused(option: str) -> None:
    with pytest.raises(dj.InvalidRequest, match=f"{option} is no option of the ODBC driver's") as refused:
        connect.engine_for(f"mssql+pyodbc://user:secret-word@host/database?{option}=yes")
    assert "secret-word" not in str(refused.value)


def test_options_are_known_in_any_case_and_another_driver_has_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    pyodbc = mock.Mock(version="5.3", drivers=lambda: ["ODBC Driver 18 for SQL Server"])  # it needs unixODBC, which may be missing
    monkeypatch.setitem(sys.modules, "pyodbc", pyodbc)
    for options in ("encrypt=no&TRUSTSERVERCERTIFICATE=yes&odbc_connect=x", "driver=FreeTDS&TDS_Version=7.4"):
        connect.engine_for(f"mssql+pyodbc://user:password@host/database?{options}")


@pytest.mark.parametrize(
    ("statement", "parameters", "written", "left"),
    [
        ("EXEC dms.p ?, ?", ("a", None), "EXEC dms.p ?, NULL", ("a",)),
        ("EXEC dms.p ?, ?", (None, None), "EXEC dms.p NULL, NULL", ()),
        ("EXEC dms.p ?", ("a",), "EXEC dms.p ?", ("a",)),
        (
            "-- ?\nSELECT N'it''s ?', [a?b], \"?\" /* ?\n? */, ?, ?",
            (None, 1),
            "-- ?\nSELECT N'it''s ?', [a?b], \"?\" /* ?\n? */, NULL, ?",
            (1,),
        ),
    ],
)
def test_a_null_is_written_into_the_statement(
    statement: str, parameters: tuple[object, ...], written: str, left: tuple[object, ...]
) -> None:
    """The drivers ask the server for the type of a parameter that has no value (SQLDescribeParam), each time."""
    sent: list[tuple[str, tuple[object, ...]]] = []
    engine = sa.create_engine("sqlite://")
    sqlserver.write_nulls(engine)
    sa.event.listen(engine, "before_cursor_execute", lambda *given: sent.append((given[2], given[3])))
    with engine.connect() as connection, pytest.raises(exc.SQLAlchemyError):  # sqlite knows none of it
        connection.exec_driver_sql(statement, parameters)
    assert sent == [(written, left)]


@pytest.mark.parametrize("driver", [pytest.param("pyodbc", marks=needs_unixodbc), pytest.param("mssqlpython", marks=needs_libltdl)])
def test_both_drivers_are_given_values_by_place(driver: str) -> None:
    """By name, no NULL would be written into a statement."""
    pool = connect.engine_for(sa.make_url(f"mssql+{driver}://reader@127.0.0.1:1/none"))
    assert pool.dialect.positional
