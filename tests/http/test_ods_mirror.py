"""A client of the Ed-Fi ODS API, unchanged, mirrors a database that changes meanwhile, row for row."""

from __future__ import annotations

import random
import threading
from contextlib import closing
from typing import Any

import pytest
import sqlalchemy as sa

import dmsjournal as dj
from tests.helpers import commit, refer, resource
from tests.http.conftest import READ, Running
from tests.http.ods_client import Item, Key, OdsClient

STUDENT, SCHOOL, ENROLMENT, PLAN = map(resource, ("Student", "School", "StudentSchoolAssociation", "GraduationPlan"))
KEYS = {
    "students": ("studentUniqueId",),
    "schools": ("schoolId",),
    "studentSchoolAssociations": ("studentUniqueId", "schoolId"),
    "graduationPlans": ("graduationPlanId",),
}
PATHS = {STUDENT: "students", SCHOOL: "schools", ENROLMENT: "studentSchoolAssociations", PLAN: "graduationPlans"}
OWN = ("id", "_etag", "_lastModifiedDate")


class Writer:
    """Random changes to few keys, so that keys are used again, swapped, and taken over."""

    def __init__(self, journal: dj.Journal, seed: int) -> None:
        self.journal, self.chance, self.number = journal, random.Random(seed), 0

    def begin(self) -> None:
        with self.journal.write() as tx:
            tx.upsert_many([*(self.student(n) for n in range(6)), *(self.school(n) for n in range(3))])
            tx.upsert_many([self.enrolment(0, 0), self.enrolment(1, 1), self.plan(0, 0), self.plan(1, 1)])

    def script(self) -> None:
        """Each hard case once: keys that documents contain and that they merely show, swapped, used again, and taken over."""
        with self.journal.write() as tx:
            tx.rekey(STUDENT, {"studentUniqueId": "0"}, {"studentUniqueId": "10"})
            tx.rekey(SCHOOL, {"schoolId": 1}, {"schoolId": 4})
        for old, new in (("1", "x"), ("2", "1"), ("x", "2")):
            with self.journal.write() as tx:
                tx.rekey(STUDENT, {"studentUniqueId": old}, {"studentUniqueId": new})
        with self.journal.write() as tx:
            tx.delete(STUDENT, {"studentUniqueId": "3"})
            tx.upsert(self.student(3))
            tx.delete(STUDENT, {"studentUniqueId": "4"})
            tx.rekey(STUDENT, {"studentUniqueId": "5"}, {"studentUniqueId": "4"})

    def change(self) -> None:
        """One transaction; what it finds changed meanwhile, or taken, is given up."""
        self.number += 1
        try:
            with self.journal.write() as tx:
                for _ in range(self.chance.randint(1, 2)):
                    self._one(tx)
        except (dj.InvalidRequest, dj.ReferencedDocument, dj.UnknownReference):
            pass

    def _one(self, tx: dj.WriteTransaction) -> None:
        student, other, school, number = (self.chance.randrange(most) for most in (8, 12, 4, 5))
        match self.chance.choice(["write", "write", "rename", "rename", "swap", "move", "delete", "again"]):
            case "write":
                tx.upsert_many([self.student(student), self.enrolment(student, school), self.plan(number, student)])
            case "rename":
                tx.rekey(STUDENT, {"studentUniqueId": str(student)}, {"studentUniqueId": str(other)})
            case "swap":
                for old, new in ((student, "x"), (other, student), ("x", other)):
                    tx.rekey(STUDENT, {"studentUniqueId": str(old)}, {"studentUniqueId": str(new)})
            case "move":
                tx.rekey(SCHOOL, {"schoolId": school}, {"schoolId": self.chance.randrange(5)})
            case "delete":
                tx.delete(STUDENT, {"studentUniqueId": str(student)}, cascade=True)
            case "again":
                tx.delete(STUDENT, {"studentUniqueId": str(student)}, cascade=True)
                tx.upsert(self.student(student))

    def student(self, key: object) -> dj.Document:
        return dj.Document(STUDENT, {"studentUniqueId": str(key)}, {"studentUniqueId": str(key), "says": self.number})

    def school(self, key: int) -> dj.Document:
        return dj.Document(SCHOOL, {"schoolId": key}, {"schoolId": key, "says": self.number})

    def enrolment(self, of: int, at: int) -> dj.Document:
        key = {"studentUniqueId": str(of), "schoolId": at}
        body = {"studentReference": {"studentUniqueId": str(of)}, "schoolReference": {"schoolId": at}, "says": self.number}
        contained = [refer(child, identity_component=True) for child in (self.student(of), self.school(at))]
        return dj.Document(ENROLMENT, key, body, contained)

    def plan(self, key: int, of: int) -> dj.Document:
        body = {"graduationPlanId": key, "studentReference": {"studentUniqueId": str(of)}, "says": self.number}
        return dj.Document(PLAN, {"graduationPlanId": key}, body, [refer(self.student(of))])


def rows_of(connection: sa.Connection) -> dict[str, dict[Key, Item]]:
    """What a copy should be: the stored bodies, each reference in them with the key that its document has in the tables."""
    names = {
        number: PATHS[resource(name)]
        for number, name in commit(connection, "SELECT ResourceKeyId, ResourceName FROM dms.ResourceKey")
    }
    documents = {
        row[0]: row for row in commit(connection, "SELECT DocumentId, DocumentUuid, ResourceKeyId, KeyValues FROM dms.Document")
    }
    bodies = dict(map(tuple, commit(connection, "SELECT DocumentId, DocumentJson FROM dms.DocumentCache")))
    for parent, child in commit(connection, "SELECT ParentDocumentId, ChildDocumentId FROM dms.ReferenceEdge"):
        reference = names[documents[child][2]].removesuffix("s") + "Reference"
        assert reference in bodies[parent]
        bodies[parent][reference] = documents[child][3]
    found: dict[str, dict[Key, Item]] = {path: {} for path in KEYS}
    for document_id, uuid, number, key in documents.values():
        path = names[number]
        found[path][tuple((name, key[name]) for name in KEYS[path])] = {**bodies[document_id], "id": uuid.hex}
    return found


def copied(client: OdsClient) -> dict[str, dict[Key, Item]]:
    """The client's copy, without what no table has."""
    return {
        path: {key: {name: of for name, of in item.items() if name not in OWN[1:]} for key, item in rows.items()}
        for path, rows in client.rows.items()
    }


def mirrored(running: Running, db: dj.Journal, connection: sa.Connection, *, seed: int, rounds: int, size: int) -> None:
    """Rounds of changes, of which each is read while it goes on, and looked at when it has ended."""
    writer = Writer(db, seed)
    writer.begin()
    with closing(OdsClient(f"{running.url}/", "reader", READ, KEYS, size)) as client:
        assert not client.is_isolated
        client.synchronise()
        writer.script()
        client.synchronise()
        assert copied(client) == rows_of(connection)
        reads = 0
        for _ in range(rounds):
            thread = threading.Thread(target=lambda: [writer.change() for _ in range(10)])
            thread.start()
            while thread.is_alive():
                client.synchronise()
                reads += 1
            thread.join()
            client.synchronise()
            assert copied(client) == rows_of(connection)
            assert client.dangling() == []
        assert reads > rounds


@pytest.mark.parametrize("size", [2, 500])
def test_a_mirror_equals_a_database_that_changes_meanwhile(running: Running, db: dj.Journal, connections: Any, size: int) -> None:
    mirrored(running, db, connections[0], seed=size, rounds=2, size=size)


@pytest.mark.long
@pytest.mark.timeout(1_200)
@pytest.mark.parametrize("seed", range(4))
def test_a_mirror_equals_a_database_that_changes_for_long(running: Running, db: dj.Journal, connections: Any, seed: int) -> None:
    mirrored(running, db, connections[0], seed=seed, rounds=40, size=1 + seed)
