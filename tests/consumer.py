"""A consumer that goes on from its checkpoint, what bypasses the journal, and what verify and repair must then do."""

import contextlib
from uuid import UUID

import sqlalchemy as sa

import dmsjournal as dj
from tests.helpers import PLAN, SCHOOL, SECTION, STUDENT, change_content, commit, document, drawn, write

State = tuple[UUID, object]

STUDENT_ID, PLAN_ID, SCHOOL_ID, GONE_ID, SECTION_ID, ROLLED_BACK_ID, NEW_ID = range(1, 8)
GAP = 6  # a version that nobody has
_ON_DOCUMENTS = "dms.TR_Document_Stamp, dms.TR_Document_Delete ON dms.Document"
_ON_EDGES = "dms.TR_ReferenceEdge_Stamp ON dms.ReferenceEdge"
PASS = {
    "postgresql": ("SET LOCAL session_replication_role = replica", "SET LOCAL session_replication_role = origin"),
    "mssql": (
        f"DISABLE TRIGGER {_ON_DOCUMENTS}; DISABLE TRIGGER {_ON_EDGES}",
        f"ENABLE TRIGGER {_ON_DOCUMENTS}; ENABLE TRIGGER {_ON_EDGES}",
    ),
}
SET_BACK = {
    "postgresql": "SELECT setval('dms.ChangeVersionSequence', {})",
    "mssql": "ALTER SEQUENCE dms.ChangeVersionSequence RESTART WITH {}; "
    "DECLARE @none bigint = NEXT VALUE FOR dms.ChangeVersionSequence",
}


class Consumer:
    """A copy of every resource's documents: uuid, and what the representation shows (its key, and its children's).

    A document is fetched when the journal says that it changed, forgotten when the journal says that it was deleted, and read in
    full where the journal says that the checkpoint has expired.
    """

    def __init__(self, journal: dj.Journal, connection: sa.Connection) -> None:
        self.journal, self.connection = journal, connection
        self.copy: dict[int, State] = {}
        self.passed = 0
        self.expired: set[str] = set()  # the resources that were read in full
        self.told: list[int] = []  # the documents of the last window

    def catch_up(self) -> None:
        newest, self.told = self.journal.versions().newest, []
        for resource in self.journal.resources():
            try:
                self._read(resource, dj.Window(self.passed + 1, max(newest, self.passed + 1)))
            except dj.CheckpointExpired:
                self._read_in_full(resource)
        self.passed = max(newest, self.passed)

    def _read(self, resource: dj.ResourceKey, window: dj.Window) -> None:
        changes = list(self.journal.changes(resource, window, page_size=2))
        deletes = list(self.journal.deletes(resource, window))
        list(self.journal.key_changes(resource, window))
        for event in sorted([*changes, *deletes], key=lambda event: event.change_version):
            self.told.append(event.document_id)
            if isinstance(event, dj.Change):
                self.copy[event.document_id] = self.shown(event.document_id)
            else:
                self.copy = {i: state for i, state in self.copy.items() if state[0] != event.document_uuid}

    def _read_in_full(self, resource: dj.ResourceKey) -> None:
        self.expired.add(resource.resource_name)
        mine = self.resource_of(resource)
        self.copy = {i: state for i, state in self.copy.items() if i not in mine}
        for change in self.journal.snapshot(resource):
            self.copy[change.document_id] = self.shown(change.document_id)

    def resource_of(self, resource: dj.ResourceKey) -> set[int]:
        """The ids that have ever been of the resource, as the copy has noted them."""
        return {i for i, (_, shown) in self.copy.items() if shown[0] == resource}  # type: ignore[index]

    def shown(self, document_id: int) -> State:
        children = commit(self.connection, f"SELECT ChildDocumentId FROM dms.ReferenceEdge WHERE ParentDocumentId = {document_id}")
        ids = [document_id, *sorted(row[0] for row in children)]
        stored = self.journal.documents(ids)
        document = stored[document_id]
        return document.document_uuid, (document.resource, *(stored[i].key_values for i in ids if i in stored))

    def everything(self) -> dict[int, State]:
        """What the copy should be."""
        return {row[0]: self.shown(row[0]) for row in commit(self.connection, "SELECT DocumentId FROM dms.Document")}


def followed(journal: dj.Journal, connection: sa.Connection) -> Consumer:
    """A consumer that has read: a renamed student, a plan that refers to it, a renamed school, a deleted one, a section."""
    student = document(STUDENT, 1)
    write(journal, student, document(PLAN, 1, student), document(SCHOOL, 1), document(SCHOOL, 2), document(SECTION, 1))
    with contextlib.suppress(KeyError), journal.write() as tx:
        tx.upsert(document(SECTION, 2))
        raise KeyError  # rolled back: its stamp is a gap
    change_content(connection, GONE_ID)
    with journal.write() as tx:
        tx.rekey(STUDENT, {"studentId": 1}, {"studentId": 2})
        tx.rekey(SCHOOL, {"schoolId": 1}, {"schoolId": 3})
        tx.delete(SCHOOL, {"schoolId": 2})
    consumer = Consumer(journal, connection)
    consumer.catch_up()
    assert consumer.copy == consumer.everything() != {}
    return consumer


def past_triggers(connection: sa.Connection, *statements: str) -> None:
    """Runs statements that no trigger sees."""
    off, on = PASS[connection.dialect.name]
    with connection.begin():
        for statement in (off, *statements, on):
            connection.exec_driver_sql(statement)


def set_back(connection: sa.Connection, version: int) -> None:
    commit(connection, SET_BACK[connection.dialect.name].format(version))


def found(verification: dj.Verification) -> dict[str, list[int | str]]:
    assert all(finding.count == len(finding.objects) for finding in verification.findings)
    return {finding.code: list(finding.objects) for finding in verification.findings}


def repaired(consumer: Consumer, expected: dict[str, list[int | str]], *, expires: bool = False) -> None:
    """Verify names what is expected and nothing else, repair heals it, and the consumer ends equal to the database."""
    assert found(consumer.journal.verify()) == expected
    repair = consumer.journal.repair()
    assert found(repair.found) == expected
    assert found(repair.left) == {}
    assert bool(repair.expired) == expires
    assert found(consumer.journal.verify()) == {}
    consumer.catch_up()
    assert consumer.copy == consumer.everything()
    assert bool(consumer.expired) == expires
    again = drawn(consumer.connection)
    assert consumer.journal.repair().found.is_clean
    assert drawn(consumer.connection) == again, "a second repair found something to do"
    change_content(consumer.connection, PLAN_ID)
    consumer.catch_up()
    assert consumer.copy == consumer.everything()
    assert consumer.told == [PLAN_ID]
