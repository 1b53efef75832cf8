"""A sequence after a restart: sys.sequences may show the next value to be given, where it showed the last one that was given.

NEXT stands in for dms.newest_stamp and always shows the next value, so that every look meets the case.
"""

from collections.abc import Callable, Iterator

import pytest
import sqlalchemy as sa

import dmsjournal as dj
from tests.acceptance.test_writers_and_reader import test_a_consumer_ends_with_what_the_database_holds as race
from tests.helpers import PLAN, SCHOOL, STUDENT, commit, document, write
from tests.sqlserver import babelfish

SHOWN = {  # what tells the last value that was given, on the server and on the stand-in
    True: babelfish.STAND_INS["procedures/newest_stamp.v1"],
    False: babelfish.shipped("sqlserver", "procedures/newest_stamp.v1"),
}


def put(connection: sa.Connection, text: str) -> None:
    commit(connection, "DROP PROCEDURE dms.newest_stamp")
    commit(connection, text)


@pytest.fixture
def restarted(journal: dj.Journal, connections, sqlserver_server) -> Iterator[dj.Journal]:
    """A journal whose sequence shows the next value."""
    shown = SHOWN[sqlserver_server.is_babelfish]
    following = "END;".join(shown.rsplit("END;", 1)).replace("\nEND;", "\n    SET @newest = @newest + 1;\nEND;")
    write(journal, document(SCHOOL, 1), document(STUDENT, 1), document(PLAN, 1, document(SCHOOL, 1)))
    put(connections[1], following)
    try:
        yield journal
    finally:
        put(connections[1], shown)


def last_stamps(connection: sa.Connection) -> int:
    [(highest,)] = commit(
        connection,
        """SELECT MAX(stamped.version) FROM (
               SELECT MAX(ChangeVersion) AS version FROM dms.DocumentChangeEvent
               UNION ALL SELECT MAX(ChangeVersion) FROM dms.DocumentDeleteEvent
               UNION ALL SELECT MAX(BeginsAfter) FROM dms.FeedGeneration
               UNION ALL SELECT MAX(ChangeVersion) FROM dms.JournalFloor) AS stamped""",
    )
    return int(highest)


def expired(journal: dj.Journal, _: sa.Connection) -> None:
    """As repair does it; repair itself would put newest_stamp right first."""
    with journal._database.session() as session:
        session.execute("database/enter_change")
        session.execute("operate/expire_journal", journal="DocumentDeleteEvent")


FIRST: dict[str, Callable[[dj.Journal, sa.Connection], object]] = {
    "insert": lambda _, c: commit(
        c, "INSERT INTO dms.Document (ResourceKeyId) SELECT ResourceKeyId FROM dms.Document WHERE DocumentId = 1"
    ),
    "update": lambda _, c: commit(c, "UPDATE dms.Document SET ContentVersion = -1 WHERE DocumentId = 2"),
    "delete": lambda _, c: commit(c, "DELETE FROM dms.Document WHERE DocumentId = 2"),
    "edge": lambda _, c: commit(c, "INSERT INTO dms.ReferenceEdge (ParentDocumentId, ChildDocumentId) VALUES (2, 1)"),
    "buckets": lambda journal, _: journal.change_bucket_count(2),
    "expiry": expired,
}


@pytest.mark.acceptance("36")
@pytest.mark.parametrize("first", FIRST)
def test_the_first_stamp_is_above_a_horizon_that_was_reported(restarted: dj.Journal, connections, first: str) -> None:
    """Race: the reader asks for newest between the restart and the first write, and reads up to it. The sequence shows a value that
    was not given, and the writer draws just that one."""
    reported = restarted.versions().newest
    FIRST[first](restarted, connections[0])
    assert last_stamps(connections[0]) > reported


@pytest.mark.acceptance("35", "36")
def test_no_change_is_passed_over(restarted: dj.Journal, connections) -> None:
    """The race of tests/acceptance/test_writers_and_reader.py, in which every writer enters at a value that was not given yet."""
    race(restarted, connections)
