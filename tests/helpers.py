"""What tests share: documents to write, plain SQL that both engines take, and what the definitions say of a database.

The definitions are docs/how-it-works.md, Words. They are worked out here in Python from the rows of dms.Document and
dms.ReferenceEdge, never from the SQL under test.
"""

import hashlib
from collections.abc import Mapping
from typing import Any
from uuid import UUID

import sqlalchemy as sa

import dmsjournal as dj


def resource(name: str) -> dj.ResourceKey:
    return dj.ResourceKey("Ed-Fi", name, "5.2.0")


STUDENT, PLAN, SCHOOL, SECTION = map(resource, ("Student", "GraduationPlan", "School", "Section"))
DESCRIPTOR = resource("GradeLevelDescriptor")

EVERYTHING = dj.Window()


def document(of: dj.ResourceKey, key: object, *children: dj.Document, body: Mapping[str, object] | None = None) -> dj.Document:
    """A document with one key value, named after its resource, that refers to other documents."""
    return dj.Document(of, {key_name(of): key}, body or {}, [refer(child) for child in children])


def refer(child: dj.Document, *, identity_component: bool = False) -> dj.Reference:
    return dj.Reference(child.resource, child.key_values, identity_component)


def key_name(of: dj.ResourceKey) -> str:
    return of.resource_name[0].lower() + of.resource_name[1:] + "Id"


def write(journal: dj.Journal, *documents: dj.Document) -> list[int]:
    """Upserts documents in one transaction; returns their ids."""
    with journal.write() as tx:
        return [written.document_id for written in tx.upsert_many(documents)]


def populate(url: str) -> None:
    """Documents 1 to 4: a student whose identity changed after its plan did, a school that was deleted, one that was not."""
    with dj.connect(url) as journal:
        student = document(STUDENT, 1, body={"name": "Ada"})
        write(journal, student, document(PLAN, 1, student), document(SCHOOL, 1), document(SCHOOL, 2))
        with journal.write() as tx:
            tx.rekey(STUDENT, {"studentId": 1}, {"studentId": 2})
            tx.delete(SCHOOL, {"schoolId": 1})


def newest(journal: dj.Journal) -> int:
    return journal.versions().newest


def drawn_to_enter(url: str) -> int:
    """Stamps that a program draws to enter, and that nothing has: SQL Server's sequence may show a value that was not given yet."""
    return 1 if url.startswith("mssql") else 0


def commit(connection: sa.Connection, statement: str) -> list[Any]:
    """Runs a statement in a transaction of its own; returns its rows, if it has any."""
    with connection.begin():
        result = connection.exec_driver_sql(statement)
        return list(result) if result.returns_rows else []


def change_content(connection: sa.Connection, *document_ids: int) -> None:
    """One statement that signals a content change of the documents."""
    commit(connection, f"UPDATE dms.Document SET ContentVersion = ContentVersion + 1 WHERE DocumentId IN {listed(document_ids)}")


def change_identity(connection: sa.Connection, *document_ids: int) -> None:
    """One statement that signals an identity change of the documents; their key values stay."""
    commit(connection, f"UPDATE dms.Document SET IdentityVersion = IdentityVersion + 1 WHERE DocumentId IN {listed(document_ids)}")


def add_edge(connection: sa.Connection, parent_id: int, child_id: int) -> None:
    commit(connection, f"INSERT INTO dms.ReferenceEdge (ParentDocumentId, ChildDocumentId) VALUES ({parent_id}, {child_id})")


def listed(document_ids: tuple[int, ...] | list[int]) -> str:
    return f"({', '.join(map(str, document_ids))})"


def stamps(connection: sa.Connection, document_id: int) -> tuple[int, int]:
    """ContentVersion and IdentityVersion of a document."""
    [row] = commit(connection, f"SELECT ContentVersion, IdentityVersion FROM dms.Document WHERE DocumentId = {document_id}")
    return tuple(row)


def document_events(connection: sa.Connection, document_id: int) -> list[tuple[int, str]]:
    """(ChangeVersion, Operation) of a document's events, oldest first."""
    events = f"dms.DocumentChangeEvent WHERE DocumentId = {document_id}"
    return [tuple(row) for row in commit(connection, f"SELECT ChangeVersion, Operation FROM {events} ORDER BY ChangeVersion")]


def identity_events(connection: sa.Connection, document_id: int) -> list[int]:
    """The versions of a document's identity events, oldest first."""
    statement = f"SELECT ChangeVersion FROM dms.IdentityChangeEvent WHERE DocumentId = {document_id} ORDER BY ChangeVersion"
    return [row[0] for row in commit(connection, statement)]


_NEWEST_DRAWN = {
    "postgresql": "SELECT pg_sequence_last_value('dms.changeversionsequence')",
    "mssql": "SET NOCOUNT ON; DECLARE @newest bigint; EXEC dms.newest_stamp @newest OUTPUT; SELECT @newest; SET NOCOUNT OFF",
}


def drawn(connection: sa.Connection) -> int:
    """The newest stamp that the sequence has given, committed or not; 0 where it gave none."""
    [row] = commit(connection, _NEWEST_DRAWN[connection.dialect.name])
    return row[0] or 0


def expected_changes(connection: sa.Connection, resource_key_id: int, window: dj.Window = EVERYTHING) -> list[dj.Change]:
    """What a walk of the window gives while nobody writes: each document of the resource whose derived version lies in it."""
    columns = "DocumentId, DocumentUuid, ResourceKeyId, ContentVersion, IdentityVersion"
    documents = {row[0]: row for row in commit(connection, f"SELECT {columns} FROM dms.Document")}
    derived = {document_id: max(row[3], row[4]) for document_id, row in documents.items()}
    for parent_id, child_id in commit(connection, "SELECT ParentDocumentId, ChildDocumentId FROM dms.ReferenceEdge"):
        derived[parent_id] = max(derived[parent_id], documents[child_id][4])
    return sorted(
        (
            dj.Change(document_id, as_uuid(documents[document_id][1]), version)
            for document_id, version in derived.items()
            if documents[document_id][2] == resource_key_id
            and (window.min or 0) <= version
            and (window.max is None or version <= window.max)
        ),
        key=lambda change: (change.change_version, change.document_id),
    )


def as_uuid(value: UUID | str) -> UUID:
    """A uuid as some driver gives it."""
    return value if isinstance(value, UUID) else UUID(value)


def unjournaled(connection: sa.Connection) -> list[int]:
    """The documents that break invariant 2: without an event at their local version, or with a lost identity event.

    A document's first event tells its first identity stamp, which needs no identity event.
    """
    events = {tuple(row) for row in commit(connection, "SELECT ChangeVersion, DocumentId FROM dms.DocumentChangeEvent")}
    first = {}
    for version, document_id in sorted(events, reverse=True):
        first[document_id] = version
    identities = {tuple(row) for row in commit(connection, "SELECT ChangeVersion, DocumentId FROM dms.IdentityChangeEvent")}
    documents = commit(connection, "SELECT DocumentId, ContentVersion, IdentityVersion FROM dms.Document")
    return [
        i
        for i, content, identity in documents
        if (max(content, identity), i) not in events or not (identity == first[i] or (identity, i) in identities)
    ]


def in_psycopg(url: str | sa.URL) -> str:
    """A SQLAlchemy URL as libpq writes it."""
    return sa.make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


_CATALOG = {
    "relations": """SELECT oid::regclass::text, relkind, relacl, obj_description(oid, 'pg_class')
                    FROM pg_class WHERE relnamespace = {0}""",
    "columns": """SELECT attrelid::regclass::text, attnum, attname, format_type(atttypid, atttypmod), attnotnull, attidentity,
                         pg_get_expr(adbin, adrelid)
                  FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
                  WHERE attnum > 0
                    AND attrelid IN (SELECT oid FROM pg_class WHERE relnamespace = {0} AND relkind IN ('r', 'p', 'v'))""",
    "indexes": "SELECT pg_get_indexdef(indexrelid) FROM pg_index JOIN pg_class ON oid = indrelid WHERE relnamespace = {0}",
    "constraints": """SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid)
                      FROM pg_constraint WHERE connamespace = {0}""",
    "triggers": """SELECT pg_get_triggerdef(t.oid), tgenabled FROM pg_trigger AS t JOIN pg_class AS c ON c.oid = tgrelid
                   WHERE relnamespace = {0} AND NOT tgisinternal""",
    "functions": """SELECT pg_get_functiondef(oid), proacl, obj_description(oid, 'pg_proc')
                    FROM pg_proc WHERE pronamespace = {0}""",
    "views": "SELECT oid::regclass::text, pg_get_viewdef(oid) FROM pg_class WHERE relnamespace = {0} AND relkind = 'v'",
    "sequences": """SELECT seqrelid::regclass::text, seqtypid::regtype::text, seqstart, seqincrement, seqmax, seqmin, seqcache,
                           seqcycle
                    FROM pg_sequence JOIN pg_class ON oid = seqrelid WHERE relnamespace = {0}""",
    "types": "SELECT typname, typtype FROM pg_type WHERE typnamespace = {0} AND typtype NOT IN ('c', 'b')",
}


def catalog(connection: sa.Connection) -> dict[str, list[tuple[Any, ...]]]:
    """Everything that schema dms of a PostgreSQL database is made of, whatever the order in which it was made."""
    found = {
        name: sorted((tuple(row) for row in commit(connection, query.format("to_regnamespace('dms')"))), key=repr)
        for name, query in _CATALOG.items()
    }
    if any(name == "dms.alembic_version" for name, *_ in found["relations"]):
        found["revision"] = [tuple(row) for row in commit(connection, "SELECT * FROM dms.alembic_version")]
    if any(column[::2] == ("dms.journalfloor", "journal") for column in (row[:3] for row in found["columns"])):
        found["journals"] = sorted(tuple(row) for row in commit(connection, "SELECT Journal FROM dms.JournalFloor"))
    return found
