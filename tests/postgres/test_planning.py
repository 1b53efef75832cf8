"""Plans of real journals: whatever was written, each change lies in just one part, and the parts hold the whole window."""

import random
from collections import Counter

import pytest
import sqlalchemy as sa

import dmsjournal as dj
from dmsjournal.read.plan import Piece
from tests.helpers import commit, resource

SCHOOL, STUDENT, PLAN = resource("School"), resource("Student"), resource("GraduationPlan")
ALL = [SCHOOL, STUDENT, PLAN]

CREATE = [
    """INSERT INTO dms.ResourceKey VALUES (1, 'Ed-Fi', 'School', '5.2.0'), (2, 'Ed-Fi', 'Student', '5.2.0'),
                                          (3, 'Ed-Fi', 'GraduationPlan', '5.2.0')""",
    """INSERT INTO dms.Document (DocumentId, ResourceKeyId)
       SELECT n, CASE WHEN n <= 10 THEN 1 WHEN n <= 300 THEN 2 ELSE 3 END FROM generate_series(1, 400) AS n""",
    """INSERT INTO dms.ReferenceEdge (ParentDocumentId, ChildDocumentId)
       SELECT n, 1 + mod(n, 10) FROM generate_series(11, 400) AS n
       UNION ALL SELECT n, n - 250 FROM generate_series(301, 400) AS n UNION ALL SELECT n, 10 FROM generate_series(11, 250) AS n
       ON CONFLICT DO NOTHING""",
]
STEPS = [
    "UPDATE dms.Document SET ContentVersion = 0 WHERE mod(DocumentId, {a}) = mod({b}, {a})",
    "UPDATE dms.Document SET IdentityVersion = 0 WHERE DocumentId = 1 + mod({b}, 10)",
    "UPDATE dms.Document SET IdentityVersion = 0 WHERE mod(DocumentId, {a}) = mod({b}, {a}) AND DocumentId <= 150",
    "DELETE FROM dms.Document WHERE DocumentId > 300 AND mod(DocumentId, 7) = mod({b}, 7)",
    "DELETE FROM dms.ReferenceEdge WHERE mod(ParentDocumentId, 40) = mod({b}, 40)",
]
READ = """SELECT ChangeVersion, DocumentId FROM dms.ResourceChange
          WHERE ResourceKeyId = ANY (%(ids)s) AND ChangeVersion BETWEEN %(first)s AND %(last)s
            AND (%(after_id)s::bigint IS NULL OR DocumentId > %(after_id)s)
            AND (%(through_id)s::bigint IS NULL OR DocumentId <= %(through_id)s)"""


@pytest.fixture(params=range(6))
def history(url: str, connections: list[sa.Connection], request: pytest.FixtureRequest) -> random.Random:
    """A random one, and the randomness to ask it with."""
    chosen = random.Random(request.param)
    for statement in CREATE:
        commit(connections[0], statement)
    for _ in range(chosen.randint(5, 25)):
        commit(connections[0], chosen.choice(STEPS).format(a=chosen.randint(1, 30), b=chosen.randint(0, 400)))
    return chosen


def read(connection: sa.Connection, plan: dj.Plan, piece: Piece) -> list[tuple[int, int]]:
    binds = piece._asdict() | {"ids": [*plan.resources.values()]}
    rows = [(row[0], row[1]) for row in connection.exec_driver_sql(READ, binds)]
    connection.rollback()
    return rows


def holds(part: dj.SubWindow, version: int, document_id: int) -> bool:
    """Whether a position lies in a part, as its docstring says."""
    return (
        part.first <= version <= part.last
        and (version > part.first or part.after_id is None or document_id > part.after_id)
        and (version < part.last or part.through_id is None or document_id <= part.through_id)
    )


@pytest.mark.acceptance("60")
def test_each_change_lies_in_one_part_and_is_read_there(
    journal: dj.Journal, connections: list[sa.Connection], history: random.Random
) -> None:
    newest = journal.versions().newest
    for parts in (1, 2, 7, 32):
        asked = history.choice([None, ALL, [STUDENT], STUDENT, [SCHOOL, PLAN]])
        window = history.choice([dj.Window(), dj.Window(*sorted(history.sample(range(newest + 20), 2)))])
        resources = ALL if asked is None else [asked] if isinstance(asked, dj.ResourceKey) else asked
        changes = {(c.change_version, c.document_id) for each in resources for c in journal.changes(each, window)}
        plan = journal.plan(asked, window, parts=parts)
        assert len(plan.parts) <= parts
        assert all(sum(holds(part, *change) for part in plan.parts) == 1 for change in changes)
        found = Counter[tuple[int, int]]()
        for part in plan.parts:
            pieces = part.pieces()
            assert len(pieces) <= 3
            rows = [row for piece in pieces for row in read(connections[0], plan, piece)]
            assert all(holds(part, *row) for row in rows)
            assert len(rows) <= part.events  # exact, as all of so few events are counted
            found.update(rows)
        assert found == Counter(changes)  # each once


def test_the_events_of_a_plan_are_what_a_count_says(
    journal: dj.Journal, connections: list[sa.Connection], history: random.Random
) -> None:
    """Document events, and of identity events those that can move something, with the parents where none is newer."""
    count = """
        SELECT (SELECT count(*) FROM dms.DocumentChangeEvent
                WHERE ChangeVersion BETWEEN {0} AND {1} AND ResourceKeyId IN (2, 3)) +
               (SELECT count(*) FROM dms.IdentityChangeEvent AS event
                WHERE ChangeVersion BETWEEN {0} AND {1}
                  AND ResourceKeyId IN (
                      SELECT ChildResourceKeyId FROM dms.ResourceDependency WHERE ParentResourceKeyId IN (2, 3))) +
               (SELECT count(*) FROM dms.IdentityChangeEvent AS event
                JOIN dms.Document AS child
                  ON child.DocumentId = event.DocumentId AND child.IdentityVersion = event.ChangeVersion
                JOIN dms.ReferenceEdge ON ChildDocumentId = event.DocumentId AND ParentResourceKeyId IN (2, 3)
                WHERE event.ChangeVersion BETWEEN {0} AND {1})"""
    first, last = sorted(history.sample(range(journal.versions().newest), 2))
    [(expected,)] = commit(connections[0], count.format(first, last))
    plan = journal.plan([STUDENT, PLAN], dj.Window(first, last), parts=5)
    assert (plan.events, plan.is_sampled) == (expected, False)


def test_documents_in_full_are_cut_by_their_ids(
    journal: dj.Journal, connections: list[sa.Connection], history: random.Random
) -> None:
    for asked, ids in ((None, (1, 2, 3)), (STUDENT, (2, 0)), ([SCHOOL, PLAN], (1, 3))):
        for parts in (1, 7, 500):
            plan = journal.plan_snapshot(asked, parts=parts)
            documents = [
                row[0] for row in commit(connections[0], f"SELECT DocumentId FROM dms.Document WHERE ResourceKeyId IN {ids}")
            ]
            sizes = [
                sum(
                    (part.after_id is None or i > part.after_id) and (part.through_id is None or i <= part.through_id)
                    for i in documents
                )
                for part in plan.parts
            ]
            assert sizes == [part.documents for part in plan.parts]
            assert sum(sizes) == len(documents)
            assert max(sizes) - min(sizes) <= 1
            assert len(plan.parts) == min(parts, len(documents))
    assert journal.plan_snapshot(documents_per_part=100).imbalance < 1.01


def test_a_plan_that_makes_no_sense_is_refused(journal: dj.Journal) -> None:
    with pytest.raises(dj.InvalidRequest, match="either `parts` or events_per_part"):
        journal.plan(parts=2, events_per_part=3)
    with pytest.raises(dj.InvalidRequest, match="documents_per_part = 0"):
        journal.plan_snapshot(documents_per_part=0)
    for parts in (0, 10_001, True, "2"):
        with pytest.raises(dj.InvalidRequest, match="parts = "):
            journal.plan(parts=parts)  # type: ignore[arg-type]


def test_an_empty_database_has_an_empty_part(journal: dj.Journal) -> None:
    assert [part.events for part in journal.plan().parts] == [0]
    assert journal.plan(window=dj.Window(1)).parts == ()  # above the horizon
    assert journal.plan_snapshot().parts == [dj.DocumentRange(None, None, 0)]


@pytest.mark.acceptance("49")
def test_a_plan_of_what_was_pruned_is_refused(journal: dj.Journal, history: random.Random) -> None:
    journal.prune(100)
    with pytest.raises(dj.CheckpointExpired):
        journal.plan(window=dj.Window(100))
    assert journal.plan(window=dj.Window(101)).parts
    assert journal.plan_snapshot().documents > 0


def test_a_version_is_read_once_for_all_of_its_cuts(
    journal: dj.Journal, connections: list[sa.Connection], history: random.Random
) -> None:
    commit(connections[0], "UPDATE dms.Document SET IdentityVersion = 0 WHERE DocumentId = 10")
    read: list[str] = []
    sa.event.listen(journal.database.pool, "before_cursor_execute", lambda *told: read.append(told[2]))
    plan = journal.plan(window=dj.Window(journal.versions().newest), parts=20)
    assert len(plan.parts) == 20
    assert sum("plan_version.sql" in statement for statement in read) == 1
