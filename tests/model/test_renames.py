"""Windows of histories that are mostly renames of few documents, against the model: an overtaken identity event is no witness."""

import random

import pytest
import sqlalchemy as sa

import dmsjournal as dj
from dmsjournal.schema import migrate
from tests.helpers import commit

from .model import Doc, State

RESOURCES = [dj.ResourceKey("Model", name, "1") for name in ("School", "Student", "Plan")]
HISTORIES, WINDOWS, DOCUMENTS, STATEMENTS = 8, 30, 24, 80
PART = """SELECT ChangeVersion, DocumentId FROM dms.ResourceChange
          WHERE ResourceKeyId = :resource AND ChangeVersion BETWEEN :first AND :last ORDER BY ChangeVersion, DocumentId"""

# Names change more often than references do. A document may refer to itself.
CHANGES = [
    *["UPDATE dms.Document SET IdentityVersion = 0 WHERE DocumentId = {a}"] * 6,
    "UPDATE dms.Document SET IdentityVersion = 0 WHERE DocumentId IN ({a}, {b}, {c})",
    "UPDATE dms.Document SET IdentityVersion = 0, ContentVersion = 0 WHERE DocumentId = {a}",
    "UPDATE dms.Document SET ContentVersion = 0 WHERE DocumentId IN ({b}, {c})",
    """INSERT INTO dms.ReferenceEdge (ParentDocumentId, ChildDocumentId)
       SELECT p.DocumentId, c.DocumentId FROM dms.Document AS p, dms.Document AS c
       WHERE p.DocumentId IN ({b}, {c}) AND c.DocumentId = {a}
       ON CONFLICT DO NOTHING""",
    "DELETE FROM dms.ReferenceEdge WHERE ParentDocumentId = {b}",
    "DELETE FROM dms.Document WHERE DocumentId = {c} AND DocumentId NOT IN (SELECT ChildDocumentId FROM dms.ReferenceEdge)",
]


def happened(connection: sa.Connection, chosen: random.Random) -> State:
    """What a random history leaves."""
    commit(
        connection,
        f"""INSERT INTO dms.Document (DocumentId, ResourceKeyId)
            SELECT n, r.ResourceKeyId
            FROM generate_series(1, {DOCUMENTS}) AS n
            JOIN dms.ResourceKey AS r ON r.ResourceName = (ARRAY['School', 'Student', 'Plan'])[1 + mod(n, 3)]""",
    )
    hubs = chosen.sample(range(1, DOCUMENTS + 1), 4)
    for _ in range(STATEMENTS):
        a, (b, c) = chosen.choice(hubs), chosen.choices(range(1, DOCUMENTS + 1), k=2)
        transaction = connection.begin()
        connection.exec_driver_sql(chosen.choice(CHANGES).format(a=a, b=b, c=c))
        (transaction.commit if chosen.random() < 0.9 else transaction.rollback)()
    columns = "DocumentId, ResourceKeyId, DocumentUuid::text, ContentVersion, IdentityVersion"
    docs = {row[0]: Doc(row[1], row[2], row[3], row[4], None) for row in commit(connection, f"SELECT {columns} FROM dms.Document")}
    edges = commit(connection, "SELECT ParentDocumentId, ChildDocumentId FROM dms.ReferenceEdge")
    return State(docs, frozenset((row[0], row[1]) for row in edges))


@pytest.mark.acceptance("109")
@pytest.mark.parametrize("options", [[], ["max_dep_identity_version"]], ids=["journal", "max_dep_identity_version"])
@pytest.mark.parametrize("refers_to_many", [False, True], ids=["few", "many"])
@pytest.mark.parametrize(  # each combination four times; more in the long runs
    "seed", [pytest.param(seed, marks=() if seed < 4 else pytest.mark.long) for seed in range(HISTORIES)]
)
def test_random_windows(url: str, connections: list[sa.Connection], options: list[str], refers_to_many: bool, seed: int) -> None:
    """`refers_to_many`: more resources than a page looks for one by one."""
    migrate.upgrade(url, options=options)
    chosen = random.Random(seed)
    with dj.connect(url) as journal:
        with journal.write() as tx:
            tx.upsert_many([dj.Document(resource, {"first": 1}) for resource in RESOURCES])
        commit(connections[0], "DELETE FROM dms.Document")
        commit(connections[0], "SELECT setval('dms.ChangeVersionSequence', 1000)")
        state = happened(connections[0], chosen)
        ids = journal.resources()
        if refers_to_many:
            commit(
                connections[0],
                """WITH added AS (INSERT INTO dms.ResourceKey (ProjectName, ResourceName, ResourceVersion)
                                  SELECT 'Model', 'Other' || n, '1' FROM generate_series(1, 70) AS n RETURNING ResourceKeyId)
                   INSERT INTO dms.ResourceDependency
                   SELECT r.ResourceKeyId, a.ResourceKeyId FROM added AS a, dms.ResourceKey AS r WHERE r.ResourceKeyId <= 3""",
            )
        newest = journal.versions().newest
        for _ in range(WINDOWS):
            resource = chosen.choice(RESOURCES)
            first, last = sorted(chosen.choices(range(1000, newest + 1), k=2))
            wanted = state.changes(ids[resource], first, last)
            size = chosen.choice([1, 2, 3, 7, 50])
            walk = journal.changes(resource, dj.Window(first, last), page_size=size)
            assert [(change.change_version, change.document_id) for change in walk] == wanted
            binds = {"resource": ids[resource], "first": first, "last": last}
            with connections[0].begin():
                assert [tuple(row) for row in connections[0].execute(sa.text(PART), binds)] == wanted
            assert journal.count(resource, dj.Window(first, last)) == len(wanted)
