"""A session: what is read is read to its end, and a refusal is remembered, whenever it comes."""

from unittest import mock

import pytest
from sqlalchemy import exc

from dmsjournal.database import sqlserver
from dmsjournal.database.engine import Engine
from dmsjournal.database.engines import ENGINES
from dmsjournal.database.session import Session

LOST = exc.DBAPIError("SELECT 1", {}, Exception("deadlock"))


def connection_of(engine: Engine) -> mock.Mock:
    """A connection that does nothing."""
    return mock.Mock(**{"dialect.name": engine.DIALECT})


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.NAME)
def test_an_error_that_comes_with_a_row_is_remembered(engine: Engine) -> None:
    conn = connection_of(engine)
    conn.execute.return_value.freeze.side_effect = LOST
    session = Session(conn)
    with pytest.raises(exc.DBAPIError):
        session.execute("database/resource_keys")
    assert session.failed


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.NAME)
def test_a_result_that_nobody_looks_at_is_read_all_the_same(engine: Engine) -> None:
    """SQL Server would take it for cancelled, and roll back."""
    conn = connection_of(engine)
    Session(conn).execute("write/lock_documents", document_ids=[1])
    conn.execute.return_value.freeze.assert_called_once()


def test_nothing_is_sent_after_a_refusal_by_sql_server() -> None:
    conn = connection_of(sqlserver)
    with pytest.raises(exc.PendingRollbackError):
        Session(conn, failed=True).execute("operate/ping")
    conn.execute.assert_not_called()
