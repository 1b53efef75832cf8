"""A session: what is read is read to its end, and a refusal is remembered, whenever it comes."""

from unittest import mock

import pytest
from sqlalchemy import exc

from dmsjournal.session import Session

LOST = exc.DBAPIError("SELECT 1", {}, Exception("deadlock"))


@pytest.mark.parametrize("engine", ["postgres", "sqlserver"])
def test_an_error_that_comes_with_a_row_is_remembered(engine: str) -> None:
    conn = mock.Mock()
    conn.execute.return_value.freeze.side_effect = LOST
    session = Session(conn, engine)
    with pytest.raises(exc.DBAPIError):
        session.execute("resource_keys")
    assert session.failed


@pytest.mark.parametrize("engine", ["postgres", "sqlserver"])
def test_a_result_that_nobody_looks_at_is_read_all_the_same(engine: str) -> None:
    """SQL Server would take it for cancelled, and roll back."""
    conn = mock.Mock()
    Session(conn, engine).execute("lock_documents", document_ids=[1])
    conn.execute.return_value.freeze.assert_called_once()


def test_nothing_is_sent_after_a_refusal_by_sql_server() -> None:
    conn = mock.Mock()
    with pytest.raises(exc.PendingRollbackError):
        Session(conn, "sqlserver", failed=True).execute("ping")
    conn.execute.assert_not_called()
