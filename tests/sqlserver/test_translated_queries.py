"""The T-SQL of the reading queries gives PostgreSQL's answers: translated, on the same data, over random histories and questions.

No SQL Server is needed. What cannot be translated is listed in UNTRANSLATED, with what is said of it.
"""

import itertools
import json
import random
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from uuid import UUID

import pytest
import sqlalchemy as sa

import dmsjournal as dj
from dmsjournal.database import sql
from dmsjournal.model.windows import LOWEST_ID
from tests.helpers import DESCRIPTOR, PLAN, SCHOOL, SECTION, STUDENT, change_identity, commit, expected_changes, key_name
from tests.sqlserver import translation
from tests.sqlserver.babelfish import shipped as text_of  # what is translated is never a stand-in's

pytestmark = pytest.mark.xdist_group("translated")  # the histories are made once, for all of them

HISTORIES, TRANSACTIONS, QUESTIONS = 4, 60, 20
FEWER = 6  # questions that a query is asked in `make test`; the long runs ask all of them, and faults are looked for with all
SIZES = (1, 2, 7, 500)
RESOURCES = (SCHOOL, STUDENT, SECTION, PLAN, DESCRIPTOR)
CONTAINS = {SECTION: SCHOOL, PLAN: SECTION}  # in its identity
VIEW = text_of("sqlserver", "views/ResourceChange.v1")
QUERIES = sql.shipped("sql") / "sqlserver" / "queries"


def path_named(name: str) -> str:
    """Where a query is below queries/: no two have one name, but for the sources of Spark."""
    (folder,) = {file.parent.name for file in QUERIES.rglob(f"{name}.sql")} - {"sources"}
    return f"{folder}/{name}"


def text_named(name: str) -> str:
    """The text of a query, whichever folder it is in."""
    return text_of("sqlserver", f"queries/{path_named(name)}")


UNTRANSLATED = {  # the queries that are not compared: each with what is said of it when it is tried
    **dict.fromkeys(["begin_page", "horizon"], "Execute: EXECUTE dms.horizon"),  # it looks at SQL Server's locks
    **dict.fromkeys(["lock_creation", "lock_identities", "share_identities"], "Execute: EXECUTE dms.lock_keys"),
    "snapshot_isolation": "sys.databases",  # of SQL Server's catalog
    "body_bytes": "datalength",  # nvarchar has two bytes a character
    "moment": "Execute: EXECUTE dms.newest_stamp",  # SQL Server's own way to read its sequence
    "begin_part": "sys.databases",  # what the database allows
    "connect": "XACT_ABORT = ON",  # settings of SQL Server's
    "change_page_stored": "maxdepidentity",  # of an option, which the histories do not have: tests/acceptance/test_options.py
    "find_documents": "OPENJSON … WITH",  # and it goes by KeyValuesHash, which is SQL Server's alone
    # The same; the answers: tests/acceptance/test_reused_keys.py, test_references_in_bodies.py
    **dict.fromkeys(["reused_keys", "renamed_children"], "keyvalueshash"),
    # Each engine knows a transaction by something else: tests/acceptance/test_lost_commits.py
    "commit_mark": "function session_context",
    "commit_state": "ELSE IF NOT EXISTS",
    # Those that write, whose rows go through the triggers:
    **dict.fromkeys(["add_resource_keys", "insert_documents"], "OPENJSON … WITH"),
    "delete_edges": "(?s)syntax error.*DELETE FROM JSONB",
    **dict.fromkeys(["insert_edges", "update_documents"], "OPENJSON … WITH"),
    **dict.fromkeys(["rekey_documents", "update_bodies", "update_edges"], "Update: UPDATE"),
    **dict.fromkeys(["delete_document", "delete_documents"], "OUTPUT"),
    # Of options that the histories do not have: tests/acceptance/test_images.py, test_contexts.py, test_effects.py
    "effects_caused": "OPENJSON … WITH",
    "contexts": "changecontext",
    "images": "Update: UPDATE",
    "images_since": "documentimagefloor",
    "image_exclusions": "imageexclusion",
    "set_context": "Execute: EXECUTE dms.set_context",
}

# What keeps a journal goes by the catalog, by locks and by what others write: tests/acceptance/ runs it on any SQL Server.
OPERATIONS = re.compile(
    "^(adopt|verify|repair|status|prune|fill|feed)|_repair$|consumer|generation|partitions$|^open_transactions$|^(first_at|last_event)$|"
    "^(add_dependencies|bury_documents|enter_change|note_context|expire_(images|journal)|move_tombstones|raise_sequence|refile_edges)|"
    "track|^trusted_views$|^exclude_images$|^remove_(dang|exp|images)|^(foreign_objects|hold_lease|(keep_)?partition_settings|hold_versions|installing_role|lock_holders)$"
)

COMPARED = [
    *("change_page", "deletes", "key_changes", "snapshot_page", "derive", "documents", "edges_of"),
    *(
        "document_rows",
        "find_by_uuid",
        "floors",
        "identity_closure",
        "journal_rows",
        "lock_documents",
        "ping",
        "read_documents",
        "referrer",
    ),
    *("referrers", "effects_indirect", "renames", "indirect", "count_changes", "count_deletes", "count_documents", "dependencies"),
    *(
        "resource_keys",
        "revisions",
        "used_uuids",
        "nth_delete",
        "nth_document",
        "part_changes",
        "part_deletes",
        "part_documents",
        "part_key_changes",
    ),
    *("plan_events", "plan_events_of", "plan_identities", "plan_identities_of", "plan_version"),
    *("plan_documents", "plan_deletes", "plan_key_changes"),
]
UNORDERED = {"documents", "edges_of", "floors", "referrers", "used_uuids"}
UNORDERED |= {"part_changes", "part_deletes", "part_documents", "part_key_changes"}

FAULTS = {  # by query, and the view: what is in it, and what stands there instead
    "count_changes": {"the window's end is exclusive": ("ChangeVersion <= @max_version", "ChangeVersion < @max_version")},
    "count_deletes": {"of any resource": ("ResourceKeyId = @resource_key_id AND", "1 = 1 AND")},
    "effects_indirect": {
        "written since": ("newest.local < edge.ChangeVersion OR", "1 = 1 OR"),
        "by anybody": ("own.TransactionId = edge.TransactionId", "1 = 0"),
        "of any event": ("renamed.ChangeVersion = wanted.change_version AND", "1 = 1 AND"),
        "of itself": ("AND ParentDocumentId <> wanted.document_id", ""),
        "as many as were looked at": ("WHERE placed.place <= @most", ""),
    },
    "change_page": {
        "the cursor is inclusive": ("OR DocumentId > @after_id)", "OR DocumentId >= @after_id)"),
        "the cursor is a version": ("(ChangeVersion > @after_version OR", "(ChangeVersion >= @after_version OR"),
        "the window's end is exclusive": ("ChangeVersion <= @max_version", "ChangeVersion < @max_version"),
        "no identity event at the cursor": (
            "ChangeVersion >= @after_version AND ChangeVersion <= @reach",
            "ChangeVersion > @after_version AND ChangeVersion <= @reach",
        ),
        "that event begins anew": ("THEN @after_id ELSE", "THEN @lowest_id ELSE"),
        "all events begin at the cursor": ("ELSE @lowest_id END", "ELSE @after_id END"),
        "a full page does not reach its end": ("SELECT @reach = MAX(ChangeVersion)", "SELECT @reach = MIN(ChangeVersion)"),
        "a document refers to itself": ("AND ParentDocumentId <> event.DocumentId", ""),
        "parents of overtaken events": ("AND child.IdentityVersion = event.ChangeVersion", ""),
        "one parent an event": ("SELECT TOP (@page_size) ParentDocumentId", "SELECT TOP (1) ParentDocumentId"),
        "parents of other resources": ("AND ParentResourceKeyId = @resource_key_id", ""),
        "a page of identity events is the end": ("WHERE @identities = @page_size", "WHERE @identities > @page_size"),
        "it goes on inside the last of them": ("last_identity.ChangeVersion + 1", "last_identity.ChangeVersion"),
        "the farthest source says how far": ("ORDER BY ends.ChangeVersion, ", "ORDER BY ends.ChangeVersion DESC, "),
        "a full page is not cut": ("IF @last_version IS NOT NULL", "IF @last_version IS NULL"),
        "a newer child is not looked for": ("child.IdentityVersion > contribution.ChangeVersion", "1 = 0"),
        "an own event that is not the last": ("contribution.IsOwn = 1 AND", "contribution.IsOwn = 1 OR"),
        "newer content is not looked for": ("document.ContentVersion < contribution.ChangeVersion AND", ""),
        "a newer identity is not looked for": ("AND document.IdentityVersion < contribution.ChangeVersion", ""),
        "the lower floor": ("MAX(ChangeVersion) AS floor", "MIN(ChangeVersion) AS floor"),
    },
    "deletes": {
        "the cursor is inclusive": ("ChangeVersion > @after_version", "ChangeVersion >= @after_version"),
        "the window's end is exclusive": ("ChangeVersion <= @max_version", "ChangeVersion < @max_version"),
        "no row without a tombstone": ("LEFT JOIN @event", "INNER JOIN @event"),
        "another journal's floor": ("N'DocumentDeleteEvent'", "N'KeyChangeEvent'"),
    },
    "journal_rows": {
        "the cursor is inclusive": ("OR DocumentId > @after_id", "OR DocumentId >= @after_id"),
        "the cursor is a version": (
            "AND (ChangeVersion > @after_version OR DocumentId > @after_id)",
            "AND ChangeVersion > @after_version",
        ),
        "the window's end is exclusive": ("ChangeVersion <= @max_version", "ChangeVersion < @max_version"),
        "no row without an event": ("LEFT JOIN @event", "INNER JOIN @event"),
        "the lower floor": ("MAX(ChangeVersion) AS floor", "MIN(ChangeVersion) AS floor"),
        "any floor": ("IN (N'DocumentChangeEvent', N'DocumentDeleteEvent')", "<> N''"),
    },
    "key_changes": {
        "the window's beginning is exclusive": ("ChangeVersion >= @min_version", "ChangeVersion > @min_version"),
        "a key that came": ("OR (event.OldKeyValues IS NULL AND event.NewKeyValues IS NOT NULL)", ""),
        "a key that went": ("OR (event.OldKeyValues IS NOT NULL AND event.NewKeyValues IS NULL)", ""),
        "each event is listed": ("event.IsLast = 1 AND", ""),
        "a later one is after the window": ("> event.ChangeVersion AND ChangeVersion <= @max_version", "> event.ChangeVersion"),
    },
    "document_rows": {
        "the cursor is inclusive": ("DocumentId > @after_id", "DocumentId >= @after_id"),
        "the older stamp": ("WHEN document.ContentVersion > document", "WHEN document.ContentVersion < document"),
        "all resources": ("ResourceKeyId = @resource_key_id AND ", ""),
    },
    "snapshot_page": {
        "the cursor is inclusive": ("DocumentId > @after_id", "DocumentId >= @after_id"),
        "the oldest child": ("MAX(child.IdentityVersion)", "MIN(child.IdentityVersion)"),
        "a child that is newer than the identity": ("page.NewestChild > stamps.ContentVersion AND", ""),
        "the older stamp of its own": ("WHEN stamps.ContentVersion > stamps", "WHEN stamps.ContentVersion < stamps"),
    },
    "derive": {
        "no document without children": ("LEFT JOIN dms.ReferenceEdge", "INNER JOIN dms.ReferenceEdge"),
        "the older date": ("ContentLastModifiedAt > document.", "ContentLastModifiedAt < document."),
    },
    "part_changes": {
        "the first version is read whole": ("OR change.DocumentId >= @from_id", "OR 1 = 1"),
        "the last version is read whole": ("OR change.DocumentId <= @through_id", "OR 1 = 1"),
        "any resource": ("change.ResourceKeyId IN (SELECT ResourceKeyId FROM @wanted)", "1 = 1"),
    },
    "part_deletes": {"any resource": ("event.ResourceKeyId IN (SELECT ResourceKeyId FROM @wanted)", "1 = 1")},
    "part_key_changes": {
        "a later one counts beyond the window": ("AND later.ChangeVersion <= @max_version", ""),
        "from the first one ever": ("AND ChangeVersion >= @min_version", ""),
        "A→B→A is one": ("earliest.OldKeyValues <> event.NewKeyValues", "1 = 1"),
    },
    "part_documents": {
        "any resource": ("document.ResourceKeyId IN (SELECT ResourceKeyId FROM @wanted)", "1 = 1"),
        "what changed since": ("live.ChangeVersion <= @last_version", "1 = 1"),
        "as written": ("newest.IdentityVersion > document.ContentVersion AND", "1 = 0 AND"),
    },
    "nth_document": {
        "any resource": ("ResourceKeyId = wanted.ResourceKeyId", "1 = 1"),
        "one too far": ("@number - 1", "@number"),
        "always everything": ("WHERE @is_everything = 1 AND", "WHERE 1 = 1 AND"),
        "the id is exclusive": ("DocumentId >= @from_id", "DocumentId > @from_id"),
    },
    "nth_delete": {"any resource": ("ResourceKeyId = wanted.ResourceKeyId", "1 = 1"), "one too far": ("@number - 1", "@number")},
    "plan_events": {
        "the range's end is exclusive": ("BETWEEN asked.first AND asked.last", "BETWEEN asked.first AND asked.last - 1"),
        "the last events of a range": ("ORDER BY ChangeVersion, DocumentId\n)", "ORDER BY ChangeVersion DESC, DocumentId DESC\n)"),
        "groups begin one later": ("(event.number - 1) / @step", "event.number / @step"),
    },
    "plan_events_of": {
        "of any resource": ("ResourceKeyId = listed.ResourceKeyId AND", ""),
        "so many of each resource": ("SELECT TOP (@most_events) own.ChangeVersion", "SELECT own.ChangeVersion"),
    },
    "plan_identities": {
        "parents of overtaken events": ("AND child.IdentityVersion = event.ChangeVersion", ""),
        "all parents": ("SELECT TOP (@most_parents) edge", "SELECT edge"),
        "any number of events": ("SELECT TOP (@most_events) ChangeVersion", "SELECT ChangeVersion"),
    },
    "plan_identities_of": {
        "parents of other resources": ("AND edge.ParentResourceKeyId = wanted.ResourceKeyId", ""),
        "events of the resources themselves": ("SELECT DISTINCT dependency.Child", "SELECT DISTINCT dependency.Parent"),
    },
    "plan_version": {
        "own events only": ("WHERE event.ChangeVersion = @version", "WHERE event.ChangeVersion = -@version"),
        "identity events only": ("WHERE own.ChangeVersion = @version", "WHERE own.ChangeVersion = -@version"),
        "not the last": (" OR numbered.following IS NULL", ""),
    },
    "plan_documents": {
        "any resource": ("WHERE ResourceKeyId IN (SELECT ResourceKeyId FROM @wanted)", "WHERE 1 = 1"),
        "the range's end is exclusive": ("BETWEEN @from_id AND @through_id", "BETWEEN @from_id AND @through_id - 1"),
        "a part's first row": ("numbered.number * @parts / @rows >", "numbered.number * @parts / @rows ="),
    },
    "plan_deletes": {
        "the window's end is exclusive": ("BETWEEN @min_version AND @max_version", "BETWEEN @min_version AND @max_version - 1")
    },
    "plan_key_changes": {"one part more": ("ELSE @most_parts END", "ELSE @most_parts + 1 END")},
    "identity_closure": {
        "one step": ("WHILE @found > 0", "WHILE @found < 0"),
        "any reference": ("AND edge.IsIdentityComponent = 1", ""),
    },
    "ResourceChange": {
        "an own event that is not the last": ("d.IdentityVersion END = e.Ch", "d.IdentityVersion END >= e.Ch"),
        "a newer child than an own event": ("c.IdentityVersion > e.ChangeVersion", "1 = 0"),
        "a newer child than the witness": ("c.IdentityVersion > i.ChangeVersion", "1 = 0"),
        "newer content than the witness": ("AND d.ContentVersion < i.ChangeVersion", ""),
        "a newer identity than the witness": ("AND d.IdentityVersion < i.ChangeVersion", ""),
    },
}

CHANGES = """
    SELECT ChangeVersion AS change_version, DocumentId AS document_id, TransactionId AS transaction_id
    FROM dms.DocumentChangeEvent ORDER BY 1, 2"""
EVENTS = """
    SELECT ResourceKeyId, ChangeVersion, DocumentId FROM dms.DocumentChangeEvent
    UNION SELECT ResourceKeyId, ChangeVersion, DocumentId FROM dms.DocumentDeleteEvent
    UNION SELECT ResourceKeyId, ChangeVersion, DocumentId FROM dms.KeyChangeEvent
    UNION SELECT ParentResourceKeyId, ChangeVersion, ParentDocumentId
          FROM dms.IdentityChangeEvent JOIN dms.ReferenceEdge ON ChildDocumentId = DocumentId
    ORDER BY 2, 3, 1"""


@dataclass
class History:
    """A database that a random history was written to, and random questions about it."""

    journal: dj.Journal
    conn: sa.Connection
    random: random.Random
    newest: int = 0
    resource_key_ids: list[int] = field(default_factory=list)
    documents: dict[int, UUID] = field(default_factory=dict)  # by id; those that were deleted too
    events: list[tuple[int, int, int]] = field(default_factory=list)  # resource, version and document
    referred_to_once: set[int] = field(default_factory=set)  # or never

    # Written.

    def write(self) -> None:
        for _ in range(TRANSACTIONS):
            try:
                with self.journal.write() as tx:
                    for _ in range(self.random.randint(1, 3)):
                        self.change(tx)
            except (dj.ReferencedDocument, dj.UnknownReference, dj.InvalidRequest):  # nothing was written: it is no history
                continue
            self.write_sql()
        floors = "UPDATE dms.JournalFloor SET ChangeVersion = {} WHERE Journal = '{}'"
        for n, journal in enumerate(("DocumentChangeEvent", "IdentityChangeEvent", "KeyChangeEvent", "DocumentDeleteEvent")):
            commit(self.conn, floors.format(self.random.randint(0, 9) * 4 + n, journal))
        self.newest = self.journal.versions().newest
        self.resource_key_ids = [*self.journal.resources().values()]
        for table in ("DocumentDeleteEvent", "Document"):
            self.documents |= dict(map(tuple, commit(self.conn, f"SELECT DocumentId, DocumentUuid FROM dms.{table} ORDER BY 1")))
        self.events = [*map(tuple, commit(self.conn, EVENTS))]
        self.changes = [row._asdict() for row in commit(self.conn, CHANGES)]
        edges = commit(self.conn, "SELECT ChildDocumentId FROM dms.ReferenceEdge WHERE ParentDocumentId <> ChildDocumentId")
        referrers = Counter(child for (child,) in edges)
        self.referred_to_once = {document_id for document_id in self.documents if referrers[document_id] < 2}

    def change(self, tx: dj.WriteTransaction) -> None:
        of, there = self.random.choice(RESOURCES), self.keys()
        match self.random.choices(["upsert", "rekey", "delete"], [6, 3, 2])[0]:
            case "upsert":
                tx.upsert_many([self.document(self.random.choice(RESOURCES), there) for _ in range(self.random.randint(1, 4))])
            case "rekey" if there.get(of):
                old = self.random.choice(there[of])
                tx.rekey(of, old, old | {key_name(of): self.random.randint(1, 6)})
            case "delete" if there.get(of):
                tx.delete(of, self.random.choice(there[of]))

    def document(self, of: dj.ResourceKey, there: dict[dj.ResourceKey, list[dict[str, object]]]) -> dj.Document:
        key: dict[str, object] = {key_name(of): self.random.randint(1, 6)}
        references = []
        contained = CONTAINS.get(of)
        if contained and there.get(contained):
            child = self.random.choice(there[contained])
            key |= child
            references.append(dj.Reference(contained, child, identity_component=True))
        for other in self.random.sample(RESOURCES, self.random.randint(0, 3)):
            if there.get(other):
                references.append(dj.Reference(other, self.random.choice(there[other])))
        unique = {reference.key: reference for reference in reversed(references)}
        return dj.Document(of, key, {"says": self.random.randint(1, 3)}, [*unique.values()])

    def keys(self) -> dict[dj.ResourceKey, list[dict[str, object]]]:
        """The keys of the documents that are there, by resource."""
        names = {resource_key_id: name for name, resource_key_id in self.journal.resources().items()}
        found: dict[dj.ResourceKey, list[dict[str, object]]] = {}
        for of, key in commit(self.conn, "SELECT ResourceKeyId, KeyValues FROM dms.Document ORDER BY DocumentId"):
            if key is not None:
                found.setdefault(names[of], []).append(key)
        return found

    def write_sql(self) -> None:
        """What the API does not do, and programs of others may: stamps without a reason, a reference to itself, no key."""
        ids = [row[0] for row in commit(self.conn, "SELECT DocumentId FROM dms.Document ORDER BY DocumentId")]
        if not ids or self.random.random() < 0.5:
            return
        one = self.random.choice(ids)
        change_identity(self.conn, *self.random.sample(ids, self.random.randint(1, min(3, len(ids)))))
        match self.random.randrange(4):
            case 0:
                edge = "INSERT INTO dms.ReferenceEdge (ParentDocumentId, ChildDocumentId) VALUES ({0}, {0}) ON CONFLICT DO NOTHING"
                commit(self.conn, edge.format(one))
            case 1:
                commit(self.conn, f"UPDATE dms.Document SET KeyValues = NULL WHERE DocumentId = {one}")
            case 2:
                commit(self.conn, f"UPDATE dms.Document SET KeyValues = '{{\"studentId\": {one}}}' WHERE KeyValues IS NULL")

    # Asked.

    def question(self, name: str, size: int) -> dict[str, object]:
        """Values for the binds of a query, and of others. Windows end at events, and cursors are events, more often than not."""
        resource_key_id = self.random.choice([*self.resource_key_ids, 99])  # 99: there is none
        events = [event for event in self.events if event[0] == resource_key_id] + [(99, 0, 0), (99, self.newest, 0)]
        ids = [LOWEST_ID, *self.documents, 10**12]
        (first, _), (after, at), (last, _) = sorted(event[1:] for event in self.random.choices(events, k=3))
        beginnings = [(first, LOWEST_ID), (first - 1, 0)]  # of a walk by positions, and of one by versions
        after_version, after_id = self.random.choice([*beginnings, (after, at), (after, self.random.choice(ids))])
        cut = [first, *sorted(self.random.sample(range(first, last), min(2, last - first))), last + 1]
        ranges = [{"range": n, "first": low, "last": high - 1} for n, (low, high) in enumerate(itertools.pairwise(cut))]
        among = self.referred_to_once if name == "referrer" else self.documents  # it tells of any one: let there be one answer
        return {
            "resource_key_id": resource_key_id,
            "min_version": first,
            "max_version": last,
            "after_version": after_version,
            "after_id": after_id,
            "page_size": size,
            "resource_key_ids": json.dumps(self.random.sample([*self.resource_key_ids, 99], self.random.randint(1, 4))),
            "ranges": json.dumps(ranges),
            "most_events": size,
            "most_parents": self.random.choice([1, 2, 1000]),
            "most_parts": size,
            "rows_per_part": self.random.choice([1, 3, 1000]),
            "step": self.random.choice([1, 2, 5]),
            "version": self.random.choice(self.events)[1],
            "most": self.random.choice([1, 2, 1000]) if name in ("effects_indirect", "renames") else 10**6,
            "looked": self.random.choice([1, 2, 1000]),
            "rows": json.dumps([row | {"after_id": self.random.choice(ids)} for row in self.random.sample(self.changes, 10)]),
            "document_id": self.random.choice([*among]),
            "document_ids": json.dumps(sorted(self.random.sample(ids, self.random.randint(0, 6)))),
            "document_uuid": self.random.choice([*self.documents.values()]),
            "number": size,
            "is_everything": self.random.randint(0, 1),
            "first_version": after_version,
            "last_version": max(after_version, last),
            "from_id": self.random.choice(ids),
            "through_id": random.Random(f"{first} {last}").choice(
                ids
            ),  # of its own: a new bind makes no other question of the old ones
            "with_key": 0 if name == "indirect" else 1,
            "with_body": 0,
            "with_values": 1,
            "with_keys": 0,  # JSON is text there, and not compared here
            "with_bodies": 0,
            "uuids": json.dumps([str(UUID(int=0)), *map(str, self.random.sample([*self.documents.values()], 3))]),
        }


@pytest.fixture(scope="module")
def histories(postgres_server) -> Iterator[list[History]]:
    with ExitStack() as stack:
        made = []
        for seed in range(HISTORIES):
            url = stack.enter_context(postgres_server.copy_of_template())
            journal = stack.enter_context(dj.connect(url))
            engine = sa.create_engine(url, connect_args={"prepare_threshold": None}, poolclass=sa.NullPool)
            made.append(History(journal, stack.enter_context(engine.connect()), random.Random(seed)))
            made[-1].write()
        yield made


Rows = list[dict[str, object]]


def differences(histories: list[History], name: str, text: str, questions: int = QUESTIONS) -> Iterator[str]:
    """Questions that a query of SQL Server's answers otherwise than PostgreSQL's of the same name. Asserts that it has answers."""
    asked = sa.text(text).compile().params.keys()
    query = sql.query("postgres", path_named(name))
    assert asked == query.compile().params.keys()
    sizes = SIZES if asked & {"page_size", "most_events", "step", "most_parts"} else SIZES[:1]
    answers = 0
    for history in histories:
        history.random.seed(name)
        for _ in range(questions if len(sizes) > 1 else QUESTIONS):  # one of a single size is cheap, and may have few answers
            for size in sizes:
                binds = {bind: value for bind, value in history.question(name, size).items() if bind in asked}
                expected = [row._asdict() for row in history.conn.execute(query, binds)]
                try:
                    found: object = ordered(name, [row._asdict() for row in translation.run(history.conn, text, binds)])
                except sa.exc.DBAPIError as error:
                    found = error
                history.conn.rollback()
                answers += len(expected)
                if found != ordered(name, expected):
                    yield f"{name} {binds}: {found} instead of {ordered(name, expected)}"
    assert answers > len(histories) or not asked


def ordered(name: str, rows: Rows) -> Rows:
    """The rows, in an order of their own where the query gives none."""
    return sorted(rows, key=repr) if name in UNORDERED else rows


@pytest.mark.parametrize("questions", [FEWER, pytest.param(QUESTIONS, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", COMPARED)
def test_a_query_answers_as_postgresql_s(histories: list[History], name: str, questions: int) -> None:
    assert next(differences(histories, name, text_named(name), questions), None) is None


def test_a_page_of_a_snapshot_stays_full_where_a_document_goes_while_it_is_read(histories: list[History]) -> None:
    """SQL Server takes a snapshot a statement, or none at all. A short page would be the end for its reader."""
    text = text_named("snapshot_page")
    last = text.rindex("SELECT page.DocumentId")
    gone = f"{text[:last]}DELETE FROM dms.Document WHERE DocumentId = :gone;\n{text[last:]}"
    pages = 0
    for history in histories:
        for resource_key_id in history.resource_key_ids:
            binds = {"resource_key_id": resource_key_id, "after_id": LOWEST_ID, "page_size": 2}
            page = [row._asdict() for row in translation.run(history.conn, text, binds)]
            history.conn.rollback()
            for row in page:
                ends = "ParentDocumentId = :gone OR ChildDocumentId = :gone"
                history.conn.execute(sa.text(f"DELETE FROM dms.ReferenceEdge WHERE {ends}"), {"gone": row["document_id"]})
                left = [found._asdict() for found in translation.run(history.conn, gone, binds | {"gone": row["document_id"]})]
                history.conn.rollback()
                assert [found["document_id"] for found in left] == [found["document_id"] for found in page]
                assert [found["document_uuid"] for found in left] == [found["document_uuid"] for found in page]
                pages += 1
    assert pages > len(RESOURCES)


def view_rows(history: History, text: str) -> tuple[Rows, Rows]:
    """What the view says, PostgreSQL's and SQL Server's."""
    history.conn.exec_driver_sql(translation.translated(text.replace("dms.ResourceChange", "public.translated")))
    both = [history.conn.exec_driver_sql(f"SELECT * FROM {view}") for view in ("dms.ResourceChange", "public.translated")]
    postgres, sqlserver = (sorted((row._asdict() for row in rows), key=repr) for rows in both)
    history.conn.rollback()
    assert postgres
    return postgres, sqlserver


def test_the_view_shows_what_postgresql_s_shows(histories: list[History]) -> None:
    for history in histories:
        postgres, sqlserver = view_rows(history, VIEW)
        assert sqlserver == postgres


def test_a_walk_is_what_the_definitions_say(histories: list[History]) -> None:
    text = text_of("sqlserver", "queries/read/change_page")
    for history in histories:
        history.random.seed("walks")
        for resource_key_id, size in zip(history.resource_key_ids, itertools.cycle(SIZES), strict=False):
            first, last = sorted(history.random.choices(range(history.newest + 1), k=2))
            assert list(walk(history, text, resource_key_id, first, last, size)) == [
                (change.change_version, change.document_id, change.document_uuid)
                for change in expected_changes(history.conn, resource_key_id, dj.Window(first, last))
            ]


@pytest.mark.parametrize("name", ["change_page", "plan_identities_of"])
def test_of_one_that_refers_to_many_resources_the_events_of_all_are_scanned(histories: list[History], name: str) -> None:
    """Both engines' text, as if 2 resources were many: it finds the same changes, and other resources' events on the way."""
    texts = {engine: text_of(engine, f"queries/{path_named(name)}") for engine in ("postgres", "sqlserver")}
    few = {engine: re.sub(r"\b65\b", "3", re.sub(r"(<=|>) 64\b", r"\1 1", text)) for engine, text in texts.items()}
    assert all(few[engine] != texts[engine] for engine in texts)
    for history in histories:
        history.random.seed(name)
        for resource_key_id, size in zip(history.resource_key_ids, itertools.cycle(SIZES), strict=False):
            first, last = sorted(history.random.choices(range(history.newest + 1), k=2))
            if name == "change_page":
                expected = expected_changes(history.conn, resource_key_id, dj.Window(first, last))
                assert list(walk(history, few["sqlserver"], resource_key_id, first, last, size)) == [
                    (change.change_version, change.document_id, change.document_uuid) for change in expected
                ]
                binds = {"resource_key_id": resource_key_id, "after_version": first, "after_id": LOWEST_ID}
                binds |= {"max_version": last, "page_size": size}
            else:
                binds = {"resource_key_ids": json.dumps([resource_key_id]), "most_events": size, "most_parents": size}
                binds |= {"ranges": json.dumps([{"range": 0, "first": first, "last": last}])}
            both = [
                [tuple(row) for row in rows]
                for rows in (
                    translation.run(history.conn, few["sqlserver"], binds),
                    history.conn.execute(sa.text(few["postgres"]), binds),
                )
            ]
            history.conn.rollback()
            assert both[0] == both[1]


def walk(history: History, text: str, resource_key_id: int, first: int, last: int, size: int) -> Iterator[tuple[object, ...]]:
    version: int | None = first
    document_id: int | None = LOWEST_ID
    while version is not None:
        binds = {"resource_key_id": resource_key_id, "after_version": version, "after_id": document_id, "max_version": last}
        rows = translation.run(history.conn, text, binds | {"page_size": size})
        history.conn.rollback()
        yield from (tuple(row[-3:]) for row in rows if row.document_id is not None)
        version, document_id = rows[0].scanned_version, rows[0].scanned_id


def test_each_reading_or_writing_query_is_compared_or_listed() -> None:
    files = {file.stem for file in QUERIES.rglob("*.sql") if file.parent.name != "sources"}
    assert sorted([*COMPARED, *UNTRANSLATED]) == sorted(name for name in files if not OPERATIONS.search(name))


@pytest.mark.parametrize("name", UNTRANSLATED)
def test_what_is_listed_cannot_be_translated(histories: list[History], name: str) -> None:
    text = text_named(name)
    binds = dict.fromkeys(sa.text(text).compile().params)
    with pytest.raises((translation.Untranslatable, sa.exc.ProgrammingError), match=UNTRANSLATED[name]):
        translation.run(histories[0].conn, text, binds)
    histories[0].conn.rollback()


@pytest.mark.parametrize(("name", "fault"), [(name, fault) for name, faults in FAULTS.items() for fault in faults])
def test_a_fault_is_seen(histories: list[History], name: str, fault: str) -> None:
    text = VIEW if name == "ResourceChange" else text_named(name)
    old, new = FAULTS[name][fault]
    assert old in text, f"{name} has no {old}"
    text = text.replace(old, new)
    if name == "ResourceChange":
        assert any(postgres != sqlserver for postgres, sqlserver in (view_rows(history, text) for history in histories))
    else:
        assert next(differences(histories, name, text), None) is not None
