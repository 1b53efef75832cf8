"""Whatever needs an open transaction has one on SQL Server, where EXEC and SET begin none: see transactions.py."""

from pathlib import Path

import pytest

import dmsjournal as dj
from dmsjournal.database import sql
from dmsjournal.schema import migrate
from tests.helpers import PLAN, SCHOOL, STUDENT, commit, document, write
from tests.sqlserver.transactions import Model, recorded

# The queries that may be the first statements of their transaction, together with those that then follow.
TRANSACTIONS = [
    ("checks/lock_timeout", "checks/one_at_a_time", "checks/server", "checks/schema", "tables/ResourceKey.v1"),
    ("queries/database/floors", "queries/operate/insert_consumer"),
    ("queries/database/floors", "queries/operate/update_consumer"),
    ("queries/operate/prune_begin",),
    ("queries/operate/prune_drop",),
    ("queries/operate/ensure_partitions",),
    ("queries/operate/begin_repair", "triggers/document_delete_first.v1"),
    ("queries/operate/begin_repair", "queries/operate/repair_sequence", "queries/operate/raise_sequence"),
    *(("queries/operate/begin_repair", "queries/database/enter_change", f"queries/operate/{name}") for name in (
        "expire_images", "expire_journal", "bury_documents", "move_tombstones")),
    ("queries/feed/lock_generations", "queries/database/enter_change", "queries/feed/insert_generation"),
    ("queries/write/find_documents", "queries/write/lock_creation"),
    ("queries/write/find_documents", "queries/write/share_identities"),
]  # fmt: skip

# Each as SQL Server refuses it or commits it too early, and what is to be said of it.
FAULTS = {
    "DECLARE @status int; EXEC @status = sys.sp_getapplock @Resource = N'dmsjournal migration', @LockMode = N'Exclusive', "
    "@LockOwner = N'Transaction', @LockTimeout = 5000;": "sp_getapplock",
    "DECLARE @n int; SELECT @n = COUNT(*) FROM OPENJSON(N'[]'); EXEC sys.sp_getapplock N'a', N'Shared';": "sp_getapplock",
    "IF 1 = 1 SELECT DocumentId FROM dms.Document; EXEC sys.sp_getapplock N'a', N'Shared';": "sp_getapplock",
    "SELECT DocumentId FROM dms.Document; COMMIT; EXEC sys.sp_getapplock N'a', N'Shared';": "sp_getapplock",
    "SET LOCK_TIMEOUT 5000; ALTER SEQUENCE dms.ChangeVersionSequence INCREMENT BY 1 NO CYCLE;": "AlterSequenceStatement",
    "DECLARE @f bigint, @t bigint; EXEC dms.enter_change @f OUTPUT, @t OUTPUT;": "CURRENT_TRANSACTION_ID",
    "EXEC sys.sp_settriggerorder N'dms.TR_Document_Delete', N'First', N'DELETE';": "sp_settriggerorder",
}
SOUND = [
    "CREATE TABLE #t (n int); EXEC sys.sp_getapplock N'a', N'Shared';",
    "SELECT DocumentId FROM dms.Document; EXEC sys.sp_getapplock N'a', N'Shared';",
    "IF 1 = 1 SELECT DocumentId FROM dms.Document; ELSE THROW 50001, N'a', 1; EXEC sys.sp_getapplock N'a', N'Shared';",
    "EXEC sys.sp_getapplock N'a', N'Shared', N'Session';",
]

BEGUN = "SELECT DocumentId FROM dms.Document;"


@pytest.fixture(scope="module")
def model(scriptdom: Path) -> Model:
    model = Model(scriptdom)
    files = [sql.text_of("sqlserver", name) for names in TRANSACTIONS for name in names]
    model.read([*files, *FAULTS, *(text.replace("COMMIT;", "") for text in FAULTS), *SOUND, BEGUN])
    return model


@pytest.mark.parametrize("names", TRANSACTIONS, ids=lambda names: names[-1].rsplit("/", 1)[1])
def test_a_transaction_is_open_where_it_is_needed(model: Model, names: tuple[str, ...]) -> None:
    assert model.problems([sql.text_of("sqlserver", name) for name in names]) == []


@pytest.mark.parametrize("text", FAULTS)
def test_a_missing_transaction_is_reported(model: Model, text: str) -> None:
    assert [problem for problem in model.problems([text]) if problem.startswith(FAULTS[text])] != []
    assert model.problems([BEGUN, text.replace("COMMIT;", "")]) == []
    assert model.problems([BEGUN, None, text]) != []


@pytest.mark.parametrize("text", SOUND)
def test_an_open_transaction_is_not_reported(model: Model, text: str) -> None:
    assert model.problems([text]) == []


def test_every_operation_has_the_transaction_that_it_needs(model: Model, empty: str, admin) -> None:
    """As the drivers send it. The operations: install, write, read, consumers, buckets, prune, repair, remove, adopt."""
    with recorded() as sent:
        migrate.upgrade(empty)
        with dj.connect(empty) as journal:
            school = document(SCHOOL, 1)
            write(journal, school, document(PLAN, 1, school), document(STUDENT, 1), document(STUDENT, 2))
            with journal.write() as tx:
                tx.rekey(SCHOOL, {"schoolId": 1}, {"schoolId": 2})
                tx.delete(STUDENT, {"studentId": 2})
            assert len(list(journal.changes(PLAN))) == 1
            journal.consumers.register("reader", at=0)
            journal.consumers.advance("reader", journal.versions().newest)
            journal.change_bucket_count(4)
            journal.prune(through=journal.versions().newest)
            for damage in (
                "DELETE FROM dms.JournalFloor WHERE Journal = N'DocumentChangeEvent'",
                "DELETE FROM dms.DocumentChangeEvent",
            ):
                commit(admin, damage)
            journal.repair()
        migrate.downgrade(empty, "base")
    texts = [text for one in sent for text in one.texts if text is not None]
    assert any("sp_getapplock" in text for text in texts)
    assert any("operate/begin_repair" in text for text in texts)
    assert [problem for one in sent for problem in model.problems(one.texts)] == []
