"""Option images: each event of a document has the body before and after it (docs/how-it-works.md, Images)."""

import json
import random
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field, replace

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import dmsjournal as dj
from dmsjournal import cli
from dmsjournal.schema import migrate
from tests.helpers import PLAN, SCHOOL, SECTION, STUDENT, commit, document, drawn_to_enter, listed, newest, write

Body = dict[str, object] | None
WAITING = 2**63 - 1


@pytest.fixture
def imaged(url: str) -> Iterator[dj.Journal]:
    migrate.upgrade(url, options=["images"])
    with dj.connect(url) as journal:
        yield journal


def events(connection: sa.Connection, *document_ids: int) -> list[tuple[int, int]]:
    """(ChangeVersion, DocumentId) of the documents' events, of all where none is named; oldest first."""
    found = []
    for journal in ("DocumentChangeEvent", "DocumentDeleteEvent"):
        found += [tuple(row) for row in commit(connection, f"SELECT ChangeVersion, DocumentId FROM dms.{journal}")]
    return sorted(event for event in found if not document_ids or event[1] in document_ids)


def images(journal: dj.Journal, connection: sa.Connection, *document_ids: int) -> list[tuple[Body, Body]]:
    """Before and after, of each event of the documents, oldest first."""
    wanted = events(connection, *document_ids)
    found = journal.images(wanted)
    assert list(found) == wanted
    return [(image.before, image.after) for image in found.values()]


def write_body(connection: sa.Connection, document_id: int, body: Body) -> None:
    """In plain SQL, whatever was there; in the transaction that is open."""
    if body is None:
        connection.exec_driver_sql(f"DELETE FROM dms.DocumentCache WHERE DocumentId = {document_id}")
        return
    text = json.dumps(body)
    changed = f"UPDATE dms.DocumentCache SET DocumentJson = '{text}' WHERE DocumentId = {document_id}"
    if not connection.exec_driver_sql(changed).rowcount:
        columns = "DocumentId, DocumentJson, Etag, ComputedVersion"
        connection.exec_driver_sql(f"INSERT INTO dms.DocumentCache ({columns}) VALUES ({document_id}, '{text}', 'e', 0)")


def stamp(connection: sa.Connection, document_id: int, column: str = "ContentVersion") -> None:
    connection.exec_driver_sql(f"UPDATE dms.Document SET {column} = {column} + 1 WHERE DocumentId = {document_id}")


def test_each_way_in_which_the_python_writer_changes_a_body(imaged: dj.Journal, connection: sa.Connection) -> None:
    [student] = write(imaged, document(STUDENT, 1, body={"n": 1}))
    write(imaged, document(STUDENT, 1, body={"n": 2}))
    write(imaged, document(STUDENT, 1, body={"n": 2}))  # unchanged
    with imaged.write() as tx:  # several changes of one transaction
        tx.upsert(document(STUDENT, 1, body={"n": 3, "studentId": 1}))
        tx.upsert(document(STUDENT, 1, body={"n": 4, "studentId": 1}))
        tx.rekey(STUDENT, {"studentId": 1}, {"studentId": 2})
    with imaged.write() as tx:
        tx.delete(STUDENT, {"studentId": 2})
    assert images(imaged, connection, student) == [
        (None, {"n": 1}),
        ({"n": 1}, {"n": 2}),
        ({"n": 2}, {"n": 3, "studentId": 1}),
        ({"n": 3, "studentId": 1}, {"n": 4, "studentId": 1}),
        ({"n": 4, "studentId": 1}, {"n": 4, "studentId": 2}),
        ({"n": 4, "studentId": 2}, None),
    ]
    assert imaged.verify().is_clean


def test_what_changes_no_body_has_it_before_and_after(imaged: dj.Journal, connection: sa.Connection) -> None:
    """An identity change, an edge that comes and one that goes."""
    student, plan = document(STUDENT, 1, body={"n": 1}), document(PLAN, 1, body={"p": 1})
    student_id, plan_id = write(imaged, student, plan)
    with imaged.write() as tx:
        tx.rekey(STUDENT, {"studentId": 1}, {"studentId": 2})
    write(imaged, document(PLAN, 1, document(STUDENT, 2), body={"p": 1}))
    commit(connection, "DELETE FROM dms.ReferenceEdge")
    assert images(imaged, connection, student_id) == [(None, {"n": 1}), ({"n": 1}, {"n": 1})]
    assert images(imaged, connection, plan_id) == [(None, {"p": 1}), ({"p": 1}, {"p": 1}), ({"p": 1}, {"p": 1})]
    write(imaged, document(PLAN, 1, body={"p": 2}))
    assert images(imaged, connection, plan_id)[:3] == [(None, {"p": 1}), ({"p": 1}, {"p": 1}), ({"p": 1}, {"p": 1})]


def test_a_body_written_alone_belongs_to_the_next_event(imaged: dj.Journal, connection: sa.Connection) -> None:
    [student] = write(imaged, document(STUDENT, 1, body={"n": 1}))
    for n in (2, 3):
        with connection.begin():
            write_body(connection, student, {"n": n})
    assert images(imaged, connection, student) == [(None, {"n": 1})]
    with connection.begin():
        stamp(connection, student, "IdentityVersion")
    with connection.begin():
        write_body(connection, student, None)
    with connection.begin():
        connection.exec_driver_sql(f"DELETE FROM dms.Document WHERE DocumentId = {student}")
    assert images(imaged, connection, student) == [(None, {"n": 1}), ({"n": 1}, {"n": 3}), ({"n": 3}, None)]
    assert imaged.verify().is_clean


def test_text_is_compared_as_it_is_written(imaged: dj.Journal, connection: sa.Connection) -> None:
    bodies: list[Body] = [{"n": "Ada"}, {"n": "ada"}, {"n": "ada "}, {"n": "\u00e5da \U0001f600"}]
    for body in bodies:
        write(imaged, document(STUDENT, 1, body=body))
    assert [after for _, after in images(imaged, connection)] == bodies


def test_many_documents_by_one_statement(imaged: dj.Journal, connection: sa.Connection) -> None:
    ids = write(imaged, *[document(STUDENT, n, body={"n": n}) for n in range(300)])
    write(imaged, *[document(STUDENT, n, body={"n": -n - 1}) for n in range(300)])
    with connection.begin():
        connection.exec_driver_sql("DELETE FROM dms.Document")
    found = images(imaged, connection)
    assert found[:300] == [(None, {"n": n}) for n in range(300)]
    assert found[300:600] == [({"n": n}, {"n": -n - 1}) for n in range(300)]
    last = dict(zip(events(connection)[600:], found[600:], strict=True))
    assert {event[1]: image for event, image in last.items()} == {i: ({"n": -n - 1}, None) for n, i in enumerate(ids)}


def test_a_living_database_has_images_from_the_option_on(url: str, connection: sa.Connection) -> None:
    with dj.connect(url) as journal:
        [student, school] = write(journal, document(STUDENT, 1, body={"n": 1}), document(SCHOOL, 1, body={"s": 1}))
        with pytest.raises(dj.UnsupportedCapability, match="dmsjournal upgrade --with images"):
            journal.images([(1, 1)])
        migrate.upgrade(url, options=["images"])
    with dj.connect(url) as journal:
        since = journal.images_since()
        assert newest(journal) == since
        write(journal, document(STUDENT, 1, body={"n": 2}))
        with journal.write() as tx:
            tx.delete(SCHOOL, {"schoolId": 1})
        found = journal.images(events(connection))
        assert [(event[1], image.before, image.after) for event, image in found.items()] == [
            (student, {"n": 1}, {"n": 2}),
            (school, {"s": 1}, None),
        ]
        assert min(found)[0] > since


def test_an_image_goes_with_its_event(imaged: dj.Journal, connection: sa.Connection) -> None:
    write(imaged, *[document(STUDENT, n, body={"n": n}) for n in range(6)])
    with imaged.write() as tx:
        tx.delete(STUDENT, {"studentId": 0})
    write(imaged, document(STUDENT, 1, body={"n": 10}))
    every = events(connection)
    imaged.prune(through=every[6][0], journals=["DocumentChangeEvent"], batch_size=2)
    kept = commit(connection, "SELECT ChangeVersion, DocumentId FROM dms.DocumentImage ORDER BY 1")
    assert [tuple(row) for row in kept] == every[6:]  # the tombstone's and the last one's
    imaged.prune(through=every[6][0])
    kept = commit(connection, "SELECT ChangeVersion, DocumentId FROM dms.DocumentImage ORDER BY 1")
    assert [tuple(row) for row in kept] == every[7:]
    assert {event: (image.before, image.after) for event, image in imaged.images(every).items()} == {
        every[7]: ({"n": 1}, {"n": 10})
    }
    assert imaged.verify().is_clean


def test_what_waits_survives_a_prune(imaged: dj.Journal, connection: sa.Connection) -> None:
    [student] = write(imaged, document(STUDENT, 1, body={"n": 1}))
    with connection.begin():
        write_body(connection, student, {"n": 2})
    imaged.prune(through=newest(imaged))
    with connection.begin():
        stamp(connection, student)
    [event] = events(connection)
    assert imaged.images([event])[event] == dj.Image({"n": 1}, {"n": 2})


@pytest.mark.parametrize("seed", range(2))
def test_a_prune_of_images_alone_changes_nothing_of_what_is_told_above_it(
    imaged: dj.Journal, connection: sa.Connection, seed: int
) -> None:
    """A random history, whose images are pruned on the way: events stay, and those above the version have what they had."""
    rng = random.Random(seed)
    told: dict[tuple[int, int], dj.Image] = {}
    ids: list[int] = []
    for step in range(40):
        document_id = rng.choice([*ids, 0])
        match rng.choice(["write", "write", "body", "stamp", "identity", "delete", "prune"]):
            case "body" if document_id:
                with connection.begin():
                    write_body(connection, document_id, rng.choice([None, {"n": step}]))
            case "stamp" | "identity" as kind if document_id:
                with connection.begin():
                    stamp(connection, document_id, "ContentVersion" if kind == "stamp" else "IdentityVersion")
            case "delete" if document_id:
                ids.remove(document_id)
                commit(connection, f"DELETE FROM dms.Document WHERE DocumentId = {document_id}")
            case "prune" if newest(imaged):
                through = rng.randint(imaged.images_since() // 2, newest(imaged))
                before = imaged.images_since()
                [pruned] = imaged.prune(through, journals=["DocumentImage"], batch_size=rng.choice([1, 2, 100])).journals
                assert pruned.floor == imaged.images_since() == max(before, through)
                left = f"SELECT COUNT(*) FROM dms.DocumentImage WHERE ChangeVersion <= {through}"
                assert commit(connection, left)[0][0] == 0
            case _:
                ids = sorted({*ids, *write(imaged, document(STUDENT, rng.randint(1, 4), body={"n": step}))})
        every = events(connection)
        found = imaged.images(every)
        assert set(found) == {event for event in every if event[0] > imaged.images_since()}
        assert {event: image for event, image in found.items() if event in told} == {
            event: image for event, image in told.items() if event[0] > imaged.images_since()
        }
        told |= found
    assert imaged.versions().oldest == 0  # no event was pruned
    assert len(every) > 15
    assert imaged.verify().is_clean


def test_who_needs_pruned_images_gets_an_answer(imaged: dj.Journal, url: str) -> None:
    write(imaged, document(STUDENT, 1, body={"n": 1}))
    write(imaged, document(STUDENT, 1, body={"n": 2}))
    write(imaged, document(STUDENT, 2, body={"n": 3}))
    request = dj.FeedRequest(item_state=dj.NewItemStateMode.REQUIRE)
    assert len(imaged.read_changes(request).events) == 3
    dry = imaged.prune(2, journals=["DocumentImage"], dry_run=True)
    assert [(each.journal, each.floor, each.deleted) for each in dry.journals] == [("DocumentImage", 2, 2)]
    assert imaged.images_since() == 0
    result = CliRunner().invoke(cli.app, ["prune", "--url", url, "--through", "2", "--journal", "DocumentImage"])
    assert (result.exit_code, result.stdout) == (0, "DocumentImage\t2\t2\ttrue\n")
    with pytest.raises(
        dj.UnsupportedCapability, match=r"up to version 2 were not kept.* option images came later, or they were pruned"
    ):
        imaged.read_changes(request)
    [last] = imaged.read_changes(dj.FeedRequest(item_state=dj.NewItemStateMode.REQUIRE, start=dj.AfterVersion(2))).events
    assert last.item_state == dj.ItemState({"n": 3}, None)
    states = [event.item_state for event in imaged.read_changes(dj.FeedRequest()).events]
    assert states == [None, dj.ItemState({"n": 2}), dj.ItemState({"n": 3}, None)]  # the second is its document's last


def test_a_prune_that_does_not_name_images_leaves_those_of_events_that_stay(imaged: dj.Journal, connection: sa.Connection) -> None:
    write(imaged, document(STUDENT, 1, body={"n": 1}))
    write(imaged, document(STUDENT, 2, body={"n": 1}))
    assert imaged.prune(1).finished
    assert imaged.images_since() == 0
    imaged.consumers.register("warehouse", 1)
    held = imaged.prune(2, journals=["DocumentImage"])
    assert (held.through, held.held_by and held.held_by.name, imaged.images_since()) == (1, "warehouse", 1)
    assert [event for event, _ in imaged.images(events(connection)).items()] == [(2, 2)]


def test_images_cannot_be_pruned_where_there_are_none(journal: dj.Journal) -> None:
    for dry in (True, False):
        with pytest.raises(dj.UnsupportedCapability, match="dmsjournal upgrade --with images"):
            journal.prune(0, journals=["DocumentImage"], dry_run=dry)
    with pytest.raises(dj.InvalidRequest, match=r"journals = 'Images'.*DocumentImage"):
        journal.prune(0, journals=["Images"])


@pytest.mark.parametrize("seed", range(2))
def test_an_excluded_resource_leaves_no_images_and_changes_nothing_of_others(
    imaged: dj.Journal, connection: sa.Connection, seed: int
) -> None:
    """A random history of two resources, one of which is excluded on the way."""
    rng = random.Random(seed)
    told: dict[tuple[int, int], dj.Image] = {}
    ids: dict[dj.ResourceKey, set[int]] = {
        STUDENT: set(write(imaged, document(STUDENT, 9))),
        SCHOOL: set(write(imaged, document(SCHOOL, 9))),
    }
    of_school = set(ids[SCHOOL])
    written = 0
    for step in range(60):
        if step == 20:
            imaged.exclude_images(SCHOOL)
            written = commit(connection, f"SELECT COUNT(*) FROM dms.DocumentImage WHERE DocumentId IN {listed(sorted(of_school))}")[
                0
            ][0]
        of = rng.choice([STUDENT, SCHOOL])
        document_id = rng.choice([*sorted(ids[of]), 0])
        match rng.choice(["write", "write", "body", "stamp", "identity", "delete", "cascade"]):
            case "body" if document_id:
                with connection.begin():
                    write_body(connection, document_id, rng.choice([None, {"n": step}]))
            case "stamp" | "identity" as kind if document_id:
                with connection.begin():
                    stamp(connection, document_id, "ContentVersion" if kind == "stamp" else "IdentityVersion")
            case "delete" | "cascade" as kind if document_id:
                ids[of].discard(document_id)
                with connection.begin():  # the body goes before its document, or with it
                    if kind == "delete":
                        write_body(connection, document_id, None)
                    connection.exec_driver_sql(f"DELETE FROM dms.Document WHERE DocumentId = {document_id}")
            case _:
                made = write(imaged, document(of, rng.randint(1, 3), body={"n": step}))
                ids[of] |= set(made)
                of_school |= set(made) if of is SCHOOL else set()
        every = events(connection)
        found = imaged.images(every)
        assert set(found) == {event for event in every if step < 20 or event[1] not in of_school}
        assert {event: image for event, image in found.items() if event in told} == {
            event: image for event, image in told.items() if event in found
        }
        told |= found
    left = commit(connection, f"SELECT ChangeVersion FROM dms.DocumentImage WHERE DocumentId IN {listed(sorted(of_school))}")
    assert len(left) <= written  # none is new; one that waited has met its event, or is gone
    assert len([event for event in told if event[1] not in of_school]) > 15
    assert imaged.verify().is_clean


def test_who_needs_images_of_an_excluded_resource_gets_an_answer(imaged: dj.Journal, url: str) -> None:
    write(imaged, document(STUDENT, 1, body={"n": 1}), document(SCHOOL, 1, body={"s": 1}))
    run, since = CliRunner(), 3 + drawn_to_enter(url)
    assert run.invoke(cli.app, ["exclude-images", "--url", url]).stdout == ""
    result = run.invoke(cli.app, ["exclude-images", "School", "--url", url])
    assert (result.exit_code, result.stdout) == (0, f"Ed-Fi/School/5.2.0\t{since}\n")
    assert (
        run.invoke(cli.app, ["exclude-images", "School", "--url", url, "--json"]).stdout
        == f'{{"resource":"Ed-Fi/School/5.2.0","since":{since}}}\n'
    )
    assert imaged.image_exclusions() == {SCHOOL: since}
    write(imaged, document(STUDENT, 1, body={"n": 2}), document(SCHOOL, 1, body={"s": 2}))
    request = dj.FeedRequest(item_state=dj.NewItemStateMode.REQUIRE)
    with pytest.raises(
        dj.UnsupportedCapability, match=rf"no images are kept of Ed-Fi/School/5.2.0 since version {since}: ask for INCLUDE"
    ):
        imaged.read_changes(dj.FeedRequest(item_state=dj.NewItemStateMode.REQUIRE))
    students = replace(request, scope=dj.LogicalPartition(STUDENT))
    assert [event.item_state for event in imaged.read_changes(students).events] == [
        dj.ItemState({"n": 1}, None),
        dj.ItemState({"n": 2}, {"n": 1}),
    ]
    states = [event.item_state for event in imaged.read_changes(dj.FeedRequest()).events if event.resource == SCHOOL]
    assert states == [None, dj.ItemState({"s": 2})]  # as without the option: the body that a document has now
    with pytest.raises(dj.InvalidRequest, match="knows no such resource"):
        imaged.exclude_images(SECTION)


def test_a_transaction_that_does_not_see_the_exclusion_keeps_too_many_images_and_never_too_few(
    imaged: dj.Journal, connection: sa.Connection
) -> None:
    [school] = write(imaged, document(SCHOOL, 1, body={"s": 1}))
    if connection.dialect.name == "mssql":
        pytest.skip("whether the database allows SNAPSHOT is up to it")
    with connection.execution_options(isolation_level="REPEATABLE READ").begin():
        connection.exec_driver_sql("SELECT COUNT(*) FROM dms.Document")
        imaged.exclude_images(SCHOOL)
        write_body(connection, school, {"s": 2})
        stamp(connection, school)
    assert commit(connection, "SELECT COUNT(*) FROM dms.DocumentImage")[0][0] == 2
    assert imaged.images(events(connection)) == {}
    assert imaged.verify().is_clean


def test_nothing_can_be_excluded_where_there_are_no_images(journal: dj.Journal) -> None:
    write(journal, document(SCHOOL, 1))
    for call in (journal.image_exclusions, lambda: journal.exclude_images(SCHOOL)):
        with pytest.raises(dj.UnsupportedCapability, match="dmsjournal upgrade --with images"):
            call()


def test_verify_finds_an_image_of_no_event(imaged: dj.Journal, connection: sa.Connection) -> None:
    write(imaged, document(STUDENT, 1, body={"n": 1}))
    write(imaged, document(STUDENT, 1, body={"n": 2}))
    commit(connection, "INSERT INTO dms.DocumentImage (ChangeVersion, DocumentId, IsDelete) VALUES (2, 77, '0')")
    [finding] = imaged.verify().findings
    assert (finding.code, finding.objects) == ("image-without-event", (2,))
    assert imaged.repair().left.is_clean
    assert commit(connection, "SELECT COUNT(*) FROM dms.DocumentImage")[0][0] == 2


@pytest.mark.parametrize("commits", [True, False])
@pytest.mark.parametrize("last", [None, {"n": 1}])
def test_what_an_event_left_stays_what_it_was_when_a_later_body_is_deleted(
    imaged: dj.Journal, connection: sa.Connection, last: Body, commits: bool
) -> None:
    """The body came after the document's last event, and the tombstone has it."""
    [student] = write(imaged, document(STUDENT, 1))
    with connection.begin():
        write_body(connection, student, {"n": 1})
    if last is not None:
        with connection.begin():
            stamp(connection, student)
    told = images(imaged, connection, student)
    transaction = connection.begin()
    write_body(connection, student, {"n": 2})
    if commits:
        transaction.commit()
        transaction = connection.begin()
    connection.exec_driver_sql(f"DELETE FROM dms.Document WHERE DocumentId = {student}")
    transaction.commit()
    assert images(imaged, connection, student) == [*told, ({"n": 2}, None)]
    assert imaged.verify().is_clean


def test_truncating_bodies_or_images_is_refused(imaged: dj.Journal, connection: sa.Connection) -> None:
    write(imaged, document(STUDENT, 1, body={"n": 1}))
    for table in ("DocumentCache", "DocumentImage"):
        with pytest.raises(sa.exc.DBAPIError), connection.begin():
            connection.exec_driver_sql(f"TRUNCATE TABLE dms.{table}")


@pytest.mark.parametrize("wrong", [7, "ab", [1], [(1, 2, 3)], [(-1, 1)], [("1", 1)]])
def test_what_is_no_event_is_refused(imaged: dj.Journal, wrong: object) -> None:
    with pytest.raises(dj.InvalidRequest):
        imaged.images(wrong)  # type: ignore[arg-type]


@dataclass
class Modelled:
    """A document, by the definition: what its events were, and the body as the last of them left it."""

    body: Body = None
    told: Body = None
    is_own: bool = False  # its last event is of the open transaction
    is_alive: bool = True
    events: list[tuple[Body, Body]] = field(default_factory=lambda: [(None, None)])

    def stamp(self) -> None:
        self.events.append((self.told, self.body))
        self.told, self.is_own = self.body, True

    def write(self, body: Body) -> None:
        if self.body == body:
            return
        self.body = body
        if self.is_own:
            self.told = body
            self.events[-1] = (self.events[-1][0], body)

    def delete(self) -> None:
        self.events.append((self.told if self.body is None else self.body, None))
        self.is_alive, self.body = False, None


bodies = st.none() | st.fixed_dictionaries({"n": st.integers(0, 2)})
steps = st.tuples(
    st.sampled_from(["create", "content", "identity", "touch", "write", "write", "write", "delete"]), st.integers(0, 2), bodies
)
transactions = st.lists(st.tuples(st.lists(steps, min_size=1, max_size=6), st.booleans()), min_size=1, max_size=8)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], database=None)
@given(history=transactions)
def test_any_history_of_plain_sql_is_told_as_the_model_says(
    imaged: dj.Journal, connection: sa.Connection, history: list[tuple[list[tuple[str, int, Body]], bool]]
) -> None:
    if not imaged.resources():
        write(imaged, document(STUDENT, 1))
    documents: dict[int, Modelled] = {}
    slots: dict[int, int] = {}
    for statements, commits in history:
        open_documents, open_slots = deepcopy(documents), dict(slots)
        for modelled in open_documents.values():
            modelled.is_own = False
        transaction = connection.begin()
        for what, slot, body in statements:
            if what == "create" and slot not in open_slots:
                connection.exec_driver_sql("INSERT INTO dms.Document (ResourceKeyId) VALUES (1)")
                document_id = connection.exec_driver_sql("SELECT MAX(DocumentId) FROM dms.Document").scalar_one()
                open_slots[slot], open_documents[document_id] = document_id, Modelled(is_own=True)
            elif slot in open_slots:
                document_id = open_slots[slot]
                apply(connection, document_id, open_documents[document_id], what, body)
                if not open_documents[document_id].is_alive:
                    del open_slots[slot]
        if commits:
            transaction.commit()
            documents, slots = open_documents, open_slots
        else:
            transaction.rollback()
        for document_id, modelled in documents.items():
            assert images(imaged, connection, document_id) == modelled.events, (document_id, history)
    assert {row[0] for row in commit(connection, "SELECT DocumentId FROM dms.DocumentImage")} <= {
        event[1] for event in events(connection)
    }


def apply(connection: sa.Connection, document_id: int, modelled: Modelled, what: str, body: Body) -> None:
    if what == "write":
        write_body(connection, document_id, body)
        modelled.write(body)
    elif what == "delete":
        connection.exec_driver_sql(f"DELETE FROM dms.Document WHERE DocumentId = {document_id}")
        modelled.delete()
    elif what == "touch":  # signals nothing
        connection.exec_driver_sql(f"UPDATE dms.Document SET ContentVersion = ContentVersion WHERE DocumentId = {document_id}")
    elif what in ("content", "identity"):
        stamp(connection, document_id, f"{what.capitalize()}Version")
        modelled.stamp()
