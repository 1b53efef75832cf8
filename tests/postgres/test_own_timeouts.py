"""A timeout that the user has set is told as that, and not as "try again". What an operator cancelled is tried again."""

import threading
import time
from contextlib import contextmanager

import pytest
import sqlalchemy as sa

import dmsjournal as dj
from dmsjournal.http import problems
from tests.conftest import Connections
from tests.helpers import STUDENT, commit, document, write


def with_setting(url: str, setting: str) -> dj.Journal:
    return dj.connect(sa.make_url(url).update_query_dict({"options": f"-c {setting}"}))


@contextmanager
def locked(connection: sa.Connection):
    """The document is locked: whoever writes it waits."""
    connection.exec_driver_sql("UPDATE dms.Document SET ContentVersion = NULL")
    try:
        yield
    finally:
        connection.rollback()


def test_statement_timeout(journal: dj.Journal, url: str, connections: Connections) -> None:
    write(journal, document(STUDENT, 1))
    with with_setting(url, "statement_timeout=300ms") as db, locked(connections[0]):
        tries = []

        def work(tx: dj.WriteTransaction) -> None:
            tries.append(tx)
            tx.delete(STUDENT, {"studentId": 1})

        with pytest.raises(dj.DatabaseRefused) as caught:
            db.retry(work)
    assert str(caught.value) == (
        "canceling statement due to statement timeout (57014): "
        "raise statement_timeout of the role, the database or the URL, or ask for less at once"
    )
    assert len(tries) == 1
    assert problems.kind_of(caught.value) is problems.UNAVAILABLE  # the service's own bound: another request may be quicker


def test_a_statement_that_was_cancelled_is_tried_again(journal: dj.Journal, connections: Connections) -> None:
    write(journal, document(STUDENT, 1))
    tries = []

    def work(tx: dj.WriteTransaction) -> bool:
        tries.append(tx)
        if len(tries) == 1:
            with pytest.raises(dj.Unavailable, match="user request") as caught:
                cancelled(tx, connections)
            raise caught.value
        return tx.delete(STUDENT, {"studentId": 1})

    assert journal.retry(work) is True
    assert len(tries) == 2


def cancelled(tx: dj.WriteTransaction, connections: Connections) -> None:
    """An operator cancels the statement while it waits for a lock."""
    with locked(connections[0]):
        waiting = (
            "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
        )
        done = threading.Event()

        def operator() -> None:
            while not done.is_set() and not commit(connections[1], waiting):
                done.wait(0.01)

        thread = threading.Thread(target=operator)
        thread.start()
        try:
            tx.delete(STUDENT, {"studentId": 1})
        finally:
            done.set()
            thread.join()


def test_idle_in_transaction(journal: dj.Journal, url: str) -> None:
    write(journal, document(STUDENT, 1))
    with with_setting(url, "idle_in_transaction_session_timeout=200ms") as db:

        def slowly(tx: dj.WriteTransaction) -> None:
            tx.delete(STUDENT, {"studentId": 1})
            time.sleep(1)  # what it is about

        with pytest.raises(dj.DatabaseRefused, match=r"\(25P03\): raise idle_in_transaction_session_timeout of the role"):
            db.retry(slowly)
        assert len(list(journal.snapshot(STUDENT))) == 1
