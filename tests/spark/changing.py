"""Random changes of any documents, and what a table of the current state must hold, by the rows of the tables alone."""

import random
from typing import Any

import sqlalchemy as sa

State = dict[int, tuple[Any, ...]]  # by document id: uuid, resource, key values, version, body

# The n-th of all documents, so that a seed does the same on every database with the same documents.
PICK = "SELECT DocumentId FROM dms.Document ORDER BY DocumentId OFFSET {nth} LIMIT 1"

CHANGES = {
    "content": """
        WITH picked AS ({pick}), body AS (
            INSERT INTO dms.DocumentCache (DocumentId, DocumentJson, Etag, ComputedVersion)
            SELECT DocumentId, jsonb_build_object('n', {n}, 'text', 'naïve — 学校 ''"\\'), '', 0 FROM picked
            ON CONFLICT (DocumentId) DO UPDATE SET DocumentJson = dms.DocumentCache.DocumentJson || excluded.DocumentJson)
        UPDATE dms.Document SET ContentVersion = ContentVersion + 1 WHERE DocumentId = (SELECT DocumentId FROM picked)""",
    "rekey": """
        UPDATE dms.Document SET KeyValues = coalesce(KeyValues, '{{}}') || jsonb_build_object('again', {n} % 5)
        WHERE DocumentId = ({pick})""",
    "no key": "UPDATE dms.Document SET KeyValues = NULL WHERE DocumentId = ({pick})",
    "delete": """
        DELETE FROM dms.Document WHERE DocumentId = (
            SELECT DocumentId FROM dms.Document AS document
            WHERE NOT EXISTS (SELECT FROM dms.ReferenceEdge WHERE ChildDocumentId = document.DocumentId)
            ORDER BY DocumentId DESC OFFSET {nth} % 50 LIMIT 1)""",
    "create": """
        WITH made AS (
            INSERT INTO dms.Document (ResourceKeyId, KeyValues)
            SELECT ResourceKeyId, jsonb_build_object('made', {n}) FROM dms.Document WHERE DocumentId = ({pick})
            RETURNING DocumentId, ResourceKeyId), body AS (
            INSERT INTO dms.DocumentCache (DocumentId, DocumentJson, Etag, ComputedVersion)
            SELECT DocumentId, jsonb_build_object('made', {n}), '', 0 FROM made)
        INSERT INTO dms.ReferenceEdge (ParentDocumentId, ChildDocumentId)
        SELECT made.DocumentId, child.DocumentId FROM made, ({other}) AS child""",
    "same id again": """
        WITH gone AS (
            SELECT DocumentId, ResourceKeyId FROM dms.DocumentDeleteEvent AS event
            WHERE NOT EXISTS (SELECT FROM dms.Document WHERE DocumentId = event.DocumentId) ORDER BY ChangeVersion DESC LIMIT 1)
        INSERT INTO dms.Document (DocumentId, ResourceKeyId, KeyValues)
        SELECT DocumentId, (SELECT ResourceKeyId FROM dms.ResourceKey ORDER BY ResourceKeyId OFFSET {n} % 2 LIMIT 1),
               jsonb_build_object('again', {n}) FROM gone""",
    "refer": """
        INSERT INTO dms.ReferenceEdge (ParentDocumentId, ChildDocumentId)
        SELECT parent.DocumentId, child.DocumentId FROM ({pick}) AS parent, ({other}) AS child
        ON CONFLICT DO NOTHING""",
    "no longer refer": "DELETE FROM dms.ReferenceEdge WHERE ParentDocumentId = ({pick})",
}
WEIGHTS = {"content": 8, "rekey": 4, "no key": 1, "delete": 4, "create": 4, "same id again": 2, "refer": 2, "no longer refer": 1}


def restore(url: str) -> None:
    """Leaves the journal as a restore to an earlier point does, once others have written: its events are other ones."""
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with engine.begin() as conn:
        conn.exec_driver_sql("UPDATE dms.DocumentChangeEvent SET CreatedAt = CreatedAt - interval '1 day'")


def change(url: str, chance: random.Random, times: int, *, together: int = 5) -> None:
    """So many random changes, in transactions of up to `together`; a few are rolled back. Others may write meanwhile."""
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    left = times
    with engine.connect() as conn:
        while left > 0:
            many = min(left, chance.randint(1, together))
            left -= many
            try:
                with conn.begin() as transaction:
                    for _ in range(many):
                        _one(conn, chance)
                    if chance.random() < 0.05:
                        transaction.rollback()
            except sa.exc.DBAPIError as error:  # a deadlock, or a document that another session took away
                if error.connection_invalidated:
                    raise


def _one(conn: sa.Connection, chance: random.Random) -> None:
    documents = conn.exec_driver_sql("SELECT count(*) FROM dms.Document").scalar_one()
    [kind] = chance.choices([*WEIGHTS], [*WEIGHTS.values()])
    nth, other = chance.randrange(max(1, documents)), chance.randrange(max(1, documents))
    pick, second = PICK.format(nth=nth), PICK.format(nth=other)
    text = CHANGES[kind].format(pick=pick, other=second, nth=nth, n=chance.randrange(1_000_000))
    conn.exec_driver_sql(text, execution_options={"no_parameters": True})


def state_of_database(url: str) -> State:
    """What each live document is, its version worked out from the definition: docs/how-it-works.md, Words."""
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with engine.connect() as conn:
        rows = conn.exec_driver_sql("""
            SELECT DocumentId, DocumentUuid::text, concat_ws('/', ProjectName, ResourceName, ResourceVersion), KeyValues::text,
                   greatest(ContentVersion, IdentityVersion), IdentityVersion, DocumentJson::text
            FROM dms.Document JOIN dms.ResourceKey USING (ResourceKeyId) LEFT JOIN dms.DocumentCache USING (DocumentId)""").all()
        edges = conn.exec_driver_sql("SELECT ParentDocumentId, ChildDocumentId FROM dms.ReferenceEdge").all()
    identity = {row[0]: row[5] for row in rows}
    version = {row[0]: row[4] for row in rows}
    for parent, child in edges:
        version[parent] = max(version[parent], identity[child])
    return {row[0]: (row[1], row[2], row[3], version[row[0]], row[6]) for row in rows}


def rows_of_database(url: str, first: int, last: int) -> dict[str, list[tuple[Any, ...]]]:
    """What a run of that window must hold, by type, while nobody writes."""
    state = state_of_database(url)
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with engine.connect() as conn:
        deletes = conn.exec_driver_sql(f"""
            SELECT DocumentId, DocumentUuid::text, ChangeVersion, KeyValues::text FROM dms.DocumentDeleteEvent
            WHERE ChangeVersion BETWEEN {first} AND {last}""").all()
        keys = conn.exec_driver_sql(f"""
            SELECT DocumentId, DocumentUuid::text, ChangeVersion, OldKeyValues::text, NewKeyValues::text FROM dms.KeyChangeEvent
            WHERE ChangeVersion BETWEEN {first} AND {last} ORDER BY ChangeVersion""").all()
    lifetimes: dict[tuple[int, str], list[Any]] = {}
    for event in keys:
        lifetimes.setdefault((event[0], event[1]), []).append(event)
    ends = [(events[0], events[-1]) for events in lifetimes.values()]
    return {
        "upsert": sorted(((i, doc[0], doc[3], doc[2]) for i, doc in state.items() if first <= doc[3] <= last), key=repr),
        "delete": sorted((tuple(row) for row in deletes), key=repr),
        "key_change": sorted(
            ((i, uuid, end[2], start[3], end[4]) for (start, end) in ends for i, uuid in [end[:2]] if start[3] != end[4]), key=repr
        ),
    }
