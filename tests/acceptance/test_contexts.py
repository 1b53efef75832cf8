"""Option context: what caused a change (docs/how-it-works.md, Contexts); deletes that cascade."""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

import pytest
import sqlalchemy as sa

import dmsjournal as dj
from dmsjournal.schema import migrate
from dmsjournal.write import cascade
from tests.acceptance.test_images import events
from tests.helpers import PLAN, SCHOOL, SECTION, STUDENT, commit, document, refer, write

CREATE = dj.Context("s-1", "ada", "255901", "api_create", {"request_id": "r-1", "roles": ["a", "b"], "n": None})


@pytest.fixture
def told(url: str) -> Iterator[dj.Journal]:
    migrate.upgrade(url, options=["context"])
    with dj.connect(url) as journal:
        yield journal


def contexts(journal: dj.Journal, connection: sa.Connection) -> list[Mapping[str, Any] | None]:
    """The context of each event, oldest first."""
    wanted = events(connection)
    found = journal.contexts(wanted)
    return [found.get(event) for event in wanted]


def say(connection: sa.Connection, text: str) -> None:
    """Sets the context in plain SQL, in the transaction that is open."""
    if connection.dialect.name == "mssql":
        connection.exec_driver_sql("SELECT COUNT(*) FROM dms.ResourceKey")  # a transaction begins
        connection.exec_driver_sql("SET NOCOUNT ON; EXEC dms.set_context ?", (text,))
    else:
        connection.exec_driver_sql("SELECT set_config('dmsjournal.context', %s, true)", (text,))


def insert(connection: sa.Connection) -> None:
    connection.exec_driver_sql("INSERT INTO dms.Document (ResourceKeyId) VALUES (1)")


def test_a_context_is_told_of_each_event_of_its_transaction_and_of_no_other(told: dj.Journal, connection: sa.Connection) -> None:
    with told.write(CREATE) as tx:
        tx.upsert(document(STUDENT, 1))
        tx.upsert(document(PLAN, 1, document(STUDENT, 1)))
    with told.write() as tx:  # the same connection of the pool
        tx.upsert(document(STUDENT, 1, body={"n": 1}))
    with told.write(dj.Context(user="bob", trigger="api_delete")) as tx:
        tx.delete(PLAN, {"graduationPlanId": 1})
    created = {
        "session_id": "s-1",
        "user": "ada",
        "tenant": "255901",
        "trigger": "api_create",
        "metadata": {"request_id": "r-1", "roles": ["a", "b"], "n": None},
    }
    assert contexts(told, connection) == [created, created, None, {"user": "bob", "trigger": "api_delete"}]
    assert commit(connection, "SELECT COUNT(*) FROM dms.ChangeContext")[0][0] == 2
    assert told.verify().is_clean


def test_a_transaction_that_is_rolled_back_leaves_no_context(told: dj.Journal, connection: sa.Connection) -> None:
    with pytest.raises(dj.UnknownReference), told.write(CREATE) as tx:
        tx.upsert_many([document(STUDENT, 1), document(PLAN, 1, document(STUDENT, 2))])
    with suppress(ZeroDivisionError), told.write(CREATE) as tx:
        tx.upsert(document(STUDENT, 1))
        raise ZeroDivisionError
    write(told, document(STUDENT, 1))
    assert contexts(told, connection) == [None]
    assert commit(connection, "SELECT COUNT(*) FROM dms.ChangeContext")[0][0] == 0


def test_one_that_writes_nothing_leaves_none(told: dj.Journal, connection: sa.Connection) -> None:
    with told.write(CREATE):
        pass
    write(told, document(STUDENT, 1))
    with told.write(CREATE) as tx:
        tx.upsert(document(STUDENT, 1))
        tx.delete(STUDENT, {"studentId": 2})
    assert commit(connection, "SELECT COUNT(*) FROM dms.ChangeContext")[0][0] == 0


def test_plain_sql_says_it_too_and_says_something_else(told: dj.Journal, connection: sa.Connection) -> None:
    write(told, document(STUDENT, 1))
    with connection.begin():
        say(connection, '{"user": "ada"}')
        insert(connection)
        insert(connection)
        say(connection, '{"user": "bob"}')
        insert(connection)
        say(connection, "{}")
        insert(connection)
    with connection.begin():
        insert(connection)
    assert contexts(told, connection) == [None, {"user": "ada"}, {"user": "ada"}, {"user": "bob"}, None, None]


@pytest.mark.parametrize(
    "text",
    ["nonsense", "{", "[1]", '"text"', "7", "null", '{"a": 1} trailing', "it's", "\u00e5\U0001f600", "x" * 3_800, "[" * 3_800],
    ids=repr,
)
def test_what_is_no_json_object_stops_no_write(told: dj.Journal, connection: sa.Connection, text: str) -> None:
    write(told, document(STUDENT, 1))
    with connection.begin():
        say(connection, text)
        insert(connection)
    assert contexts(told, connection) == [None, {"unreadable": text[:200]}]


def test_a_context_that_is_too_long_is_cut(told: dj.Journal, connection: sa.Connection) -> None:
    write(told, document(STUDENT, 1))
    text = json.dumps({"user": "a" * (3_899 if connection.dialect.name == "mssql" else 1_000_000)})[:3_900]
    with connection.begin():
        say(connection, text if connection.dialect.name == "mssql" else json.dumps({"user": "a" * 1_000_000}))
        insert(connection)
    assert contexts(told, connection)[1] == {"unreadable": text[:200]}


def test_transaction_ids_come_again(told: dj.Journal, connection: sa.Connection) -> None:
    """After a restore into another cluster, or a restart of SQL Server: the context of before is of stamps below."""
    with told.write(CREATE) as tx:
        tx.upsert(document(STUDENT, 1))
    write(told, document(STUDENT, 2))
    with told.write(dj.Context(user="bob")) as tx:
        tx.upsert(document(STUDENT, 3))
    again = "(SELECT MAX(TransactionId) FROM dms.DocumentChangeEvent)"
    commit(connection, f"UPDATE dms.ChangeContext SET TransactionId = {again}")
    commit(connection, f"UPDATE dms.DocumentChangeEvent SET TransactionId = {again}")
    assert [said and said["user"] for said in contexts(told, connection)] == ["ada", None, "bob"]


def test_a_context_goes_when_the_last_of_its_events_does(told: dj.Journal, connection: sa.Connection) -> None:
    for n in range(5):
        with told.write(dj.Context(user=str(n))) as tx:
            tx.upsert_many([document(STUDENT, 2 * n), document(STUDENT, 2 * n + 1)])
    every = events(connection)
    told.prune(through=every[4][0], batch_size=1)
    left = [row[0] for row in commit(connection, "SELECT AfterVersion FROM dms.ChangeContext ORDER BY 1")]
    assert len(left) == 3
    assert [said and said["user"] for said in contexts(told, connection)] == ["2", "3", "3", "4", "4"]


def test_without_the_option_it_is_refused_until_it_comes(journal: dj.Journal, url: str, connection: sa.Connection) -> None:
    with pytest.raises(dj.UnsupportedCapability, match="dmsjournal upgrade --with context"), journal.write(CREATE) as tx:
        tx.upsert(document(STUDENT, 1))
    with pytest.raises(dj.UnsupportedCapability):
        journal.contexts([(1, 1)])
    migrate.upgrade(url, options=["context"])
    with journal.write(CREATE) as tx:  # a program that was there before
        tx.upsert(document(STUDENT, 1))
    assert [said and said["user"] for said in contexts(journal, connection)] == ["ada"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"session_id": 7},
        {"user": ""},
        {"tenant": ["a"]},
        {"trigger": "api"},
        {"metadata": [1]},
        {"metadata": {"a": object()}},
        {"metadata": {"a": "\x00"}},
        {"metadata": {"a": "\ud800"}},
        {"metadata": {"a": float("nan")}},
        {"metadata": {"a": "b" * 3_600}},
        {"user": "b" * 1_000_000},
    ],
    ids=lambda wrong: f"{next(iter(wrong))}={ascii(next(iter(wrong.values())))[:20]}",
)
def test_what_is_no_context_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(dj.InvalidRequest, match="context"):
        dj.Context(**wrong)


def test_the_largest_context_is_kept(told: dj.Journal, connection: sa.Connection) -> None:
    largest = dj.Context(user="\U0001f600" * 890)
    with told.write(largest) as tx:
        tx.upsert(document(STUDENT, 1))
        tx.upsert(document(PLAN, 1, document(STUDENT, 1)))
        tx.delete(STUDENT, {"studentId": 1}, cascade=True)
    found = contexts(told, connection)
    assert all(said and said["user"] == largest.user for said in found)
    assert [said.get("trigger") for said in found if said] == [None, None, "cascade_delete", None]


def test_a_cascade_deletes_referrers_first_and_says_what_went(told: dj.Journal, connection: sa.Connection) -> None:
    student, school = document(STUDENT, 1), document(SCHOOL, 1)
    section = document(SECTION, 1, school)
    plan = dj.Document(PLAN, {"graduationPlanId": 1}, {}, [refer(student), refer(section)])
    other = document(PLAN, 2, student)
    ids = dict(
        zip(("student", "school", "section", "plan", "other"), write(told, student, school, section, plan, other), strict=True)
    )
    seen = len(events(connection))
    with told.write(dj.Context(user="ada", trigger="api_delete")) as tx:
        gone = tx.delete(SCHOOL, school.key_values, cascade=True)
        tx.upsert(document(SCHOOL, 2))
    assert [deleted.document_id for deleted in gone] == [ids["plan"], ids["section"], ids["school"]]
    assert (gone[0].resource, gone[0].key_values) == (PLAN, {"graduationPlanId": 1})
    assert [event[1] for event in events(connection)][seen : seen + 3] == [ids["plan"], ids["section"], ids["school"]]
    cause = {"document_id": ids["school"], "document_uuid": str(gone[-1].document_uuid)}
    because = {"user": "ada", "trigger": "cascade_delete", "cause": cause}
    alone = {"user": "ada", "trigger": "api_delete"}
    assert contexts(told, connection)[seen:] == [because, because, alone, alone]
    assert told.verify().is_clean


def test_a_cascade_without_a_context_of_its_own(told: dj.Journal, connection: sa.Connection) -> None:
    write(told, document(STUDENT, 1), document(PLAN, 1, document(STUDENT, 1)))
    with told.write() as tx:
        tx.delete(STUDENT, {"studentId": 1}, cascade=True)
        tx.upsert(document(STUDENT, 2))
    found = contexts(told, connection)
    assert [said and said["trigger"] for said in found] == [None, None, "cascade_delete", None, None]


@pytest.mark.parametrize("key", [1, 2, 3, 4])
def test_a_cascade_takes_a_cycle_and_what_refers_to_itself(journal: dj.Journal, connection: sa.Connection, key: int) -> None:
    """1 and 2 and 3 refer to each other in a circle, 4 to 1 and to itself."""
    ids = write(journal, *[document(STUDENT, n) for n in (1, 2, 3, 4)])
    for parent, child in ((1, 2), (2, 3), (3, 1), (4, 1), (4, 4)):
        write(journal, dj.Document(STUDENT, {"studentId": parent}, {"n": parent}, [refer(document(STUDENT, child))]))
    commit(
        connection,
        "INSERT INTO dms.ReferenceEdge (ParentDocumentId, ChildDocumentId) "
        f"SELECT {ids[3]}, {ids[0]} WHERE NOT EXISTS (SELECT 1 FROM dms.ReferenceEdge "
        f"WHERE ParentDocumentId = {ids[3]} AND ChildDocumentId = {ids[0]})",
    )
    with journal.write() as tx:
        gone = tx.delete(STUDENT, {"studentId": key}, cascade=True)
    assert gone[-1].document_id == ids[key - 1]
    assert {deleted.document_id for deleted in gone} == ({ids[3]} if key == 4 else set(ids))
    left = {row[0] for row in commit(connection, "SELECT DocumentId FROM dms.Document")}
    assert left == set(ids) - {deleted.document_id for deleted in gone}
    assert journal.verify().is_clean


def test_a_cascade_of_nothing_and_of_one(journal: dj.Journal) -> None:
    write(journal, document(STUDENT, 1))
    with journal.write() as tx:
        assert tx.delete(STUDENT, {"studentId": 7}, cascade=True) == []
        [gone] = tx.delete(STUDENT, {"studentId": 1}, cascade=True)
    assert gone.key_values == {"studentId": 1}


def test_a_cascade_is_bounded(journal: dj.Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cascade, "CASCADE_LIMIT", 3)
    student = document(STUDENT, 1)
    write(journal, student, *[document(PLAN, n, student) for n in range(4)])
    with pytest.raises(dj.InvalidRequest, match="more than 3 documents"), journal.write() as tx:
        tx.delete(STUDENT, {"studentId": 1}, cascade=True)
    with journal.write() as tx:
        tx.delete(PLAN, {"graduationPlanId": 0})
        assert len(tx.delete(STUDENT, {"studentId": 1}, cascade=True)) == 4


@pytest.mark.parametrize("groups", [[(1, 0)], [(1, 0), (2, 1), (3, 1), (3, 2)], [(1, 0), (0, 1)], [(1, 2), (2, 1), (1, 0), (3, 2)]])
def test_nothing_is_deleted_before_what_refers_to_it(groups: list[tuple[int, int]]) -> None:
    edges = set(groups)
    order, closing = cascade._referrers_first(edges, 0)
    assert sorted(document_id for group in order for document_id in group) == sorted({parent for parent, _ in edges} - {0})
    left = edges - set(closing)
    for group in order:
        assert not [edge for edge in left if edge[1] in group]
        left = {edge for edge in left if edge[0] not in group}
    assert not left
