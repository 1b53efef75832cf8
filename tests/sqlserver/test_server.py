"""The database that tests share: whatever a test left there, the next one finds it as after an installation."""

import dmsjournal as dj
from tests.helpers import PLAN, SCHOOL, STUDENT, document, newest, write

LEFT = [
    "UPDATE dms.JournalFloor SET ChangeVersion = 5",
    "DELETE FROM dms.JournalFloor WHERE Journal = N'DocumentDeleteEvent'",
    "INSERT INTO dms.Lease (Name, Token, Process, Owner, TakenAt, ExpiresAt)"
    " VALUES (N'prune', NEWID(), N'gone', N'dbo', SYSUTCDATETIME(), DATEADD(day, 1, SYSUTCDATETIME()))",
    "INSERT INTO dms.FeedGeneration (Generation, BucketCount, BeginsAfter, CreatedAt) VALUES (2, 8, 3, SYSUTCDATETIME())",
    "ALTER SEQUENCE dms.ChangeVersionSequence RESTART WITH 9223372036854775807",
    "DECLARE @last bigint = NEXT VALUE FOR dms.ChangeVersionSequence",
]


def test_nothing_of_a_test_is_left_to_the_next_one(sqlserver_server) -> None:
    """Also where its sequence is at its end: emptying deletes documents, and a delete draws a stamp."""
    for _ in range(2):
        with sqlserver_server.copy_of_template() as url, dj.connect(url) as journal:
            assert newest(journal) == 0
            assert journal.consumers.list() == []
            school = document(SCHOOL, 1)
            assert write(journal, school, document(PLAN, 1, school), document(STUDENT, 1)) == [1, 2, 3]
            assert journal.prune(2, dry_run=True).through == 2
            assert len([part for part in journal.list_physical_partitions() if part.ends_at is None]) == 4
            with sqlserver_server.connect(url) as connection:
                for statement in LEFT:
                    connection.exec_driver_sql(statement)
