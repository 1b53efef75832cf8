"""A SQL Server that is killed (acceptance 37): what was committed is there, versions keep rising, the reader goes on."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

import dmsjournal as dj
from dmsjournal.schema import migrate
from tests.helpers import STUDENT, document, expected_changes, unjournaled, write

WRITERS = 3


class Writer:
    """Writes one document after the other, also to the server that came back. `written`: whose commit was acknowledged."""

    def __init__(self, url: str, first: int, enough: threading.Semaphore, stop: threading.Event) -> None:
        self.url, self.first, self.enough, self.stop = url, first, enough, stop
        self.written: list[int] = []

    def run(self) -> None:
        with dj.connect(self.url) as journal:
            for number in range(self.first, self.first + 10_000):
                if self.stop.is_set():
                    return
                with suppress(dj.JournalError):
                    write(journal, document(STUDENT, number))
                    self.written.append(number)
                    self.enough.release()


@pytest.mark.acceptance("37")
def test_nothing_that_was_committed_is_lost_and_no_version_is_given_again(sqlserver_server, empty: str, admin) -> None:
    if sqlserver_server.kill_and_restart is None:
        pytest.skip("nobody may kill this server: DMSJOURNAL_TEST_SQLSERVER_RESTART names no command that does")
    migrate.upgrade(empty)
    with dj.connect(empty) as journal:
        write(journal, document(STUDENT, 0))
        enough, stop = threading.Semaphore(0), threading.Event()
        writers = [Writer(empty, 10_000 * (n + 1), enough, stop) for n in range(WRITERS)]
        with ThreadPoolExecutor(WRITERS) as threads:
            working = [threads.submit(writer.run) for writer in writers]
            for _ in range(10):
                assert enough.acquire(timeout=120)
            passed = journal.versions().newest
            seen = {change.document_id: change.change_version for change in journal.changes(STUDENT, dj.Window(1, passed))}
            admin.close()
            sqlserver_server.kill_and_restart()
            stop.set()
            for work in working:
                work.result()
        newest = journal.versions().newest
        assert newest >= passed
        keys = {student.key_values["studentId"] for student in journal.documents(range(1, 1000)).values() if student.key_values}
        assert {number for writer in writers for number in writer.written} <= keys
        write(journal, document(STUDENT, -1))
        assert journal.versions().newest > newest
        seen |= {change.document_id: change.change_version for change in journal.changes(STUDENT, dj.Window(passed + 1))}
        with sqlserver_server.connect(empty) as connection:
            expected = expected_changes(connection, journal.resources()[STUDENT])
            assert seen == {change.document_id: change.change_version for change in expected}
            assert unjournaled(connection) == []
