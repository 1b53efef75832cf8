"""Eight writers of everything and a reader by the horizon (acceptance 35)."""

import random
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
import sqlalchemy as sa

import dmsjournal as dj
from dmsjournal.schema import migrate

from .races import CHILD, PARENT, Race, Reader, Writer

WRITERS = 8
RETRY = {"40001", "40P01", "23503", "23505"}  # serialisation, deadlock, a document that went, an edge that is there


class Program:
    """What one writer does: short transactions of random statements, with pauses while it holds its stamps."""

    def __init__(self, race: Race, number: int, documents: list[int], children: list[int]) -> None:
        self.random = random.Random(number)
        self.writer = race.writer("REPEATABLE READ" if number % 3 == 0 else "READ COMMITTED")
        self.documents, self.children = documents, children  # shared by all: what another one deletes is missed
        self.done: Counter[str] = Counter()

    def run(self, goes_on: Callable[[], bool]) -> Counter[str]:
        while goes_on():
            mine: list[Callable[[], object]] = []  # what to do with the shared lists if it commits
            try:
                for _ in range(self.random.randint(1, 4)):
                    self.statement(mine)
                    if self.random.random() < 0.3:
                        time.sleep(self.random.uniform(0, 0.02))
                if self.random.random() < 0.15:
                    self.writer.rollback()
                    self.done["rolled back"] += 1
                else:
                    self.writer.commit()
                    self.done["committed"] += 1
                    for call in mine:
                        call()
            except sa.exc.DBAPIError as error:
                if getattr(error.orig, "sqlstate", None) not in RETRY:
                    raise
                self.writer.rollback()
                self.done["refused"] += 1
        self.writer.rollback()
        return self.done

    def statement(self, mine: list[Callable[[], object]]) -> None:
        writer, child, document = self.writer, self.random.choice(self.children), self.random.choice(self.documents)
        is_saved = self.random.random() < 0.3
        if is_saved:
            writer.sql("SAVEPOINT s")
        kept: list[Callable[[], object]] = []
        what = self.random.choices(
            ["touch", "rename", "refer", "unrefer", "create", "create child", "delete", "several", "re-point"],
            [30, 8, 15, 8, 10, 3, 4, 5, 6],
        )[0]
        if what == "touch":
            self.update(writer, "ContentVersion = NULL", [document])
        elif what == "rename":
            self.update(writer, "IdentityVersion = NULL", [child])
        elif what == "several":
            self.update(writer, "ContentVersion = NULL", self.random.sample(self.documents, 6))
        elif what == "refer":
            self.refer(writer, document, child)
        elif what == "unrefer":
            writer.sql("DELETE FROM dms.ReferenceEdge WHERE ParentDocumentId = :p", p=document)
        elif what == "re-point":
            writer.sql(
                "UPDATE dms.ReferenceEdge SET ChildDocumentId = :c WHERE ParentDocumentId = :p AND ChildDocumentId = "
                "(SELECT min(ChildDocumentId) FROM dms.ReferenceEdge WHERE ParentDocumentId = :p "
                "HAVING bool_and(ChildDocumentId <> :c))",
                p=document,
                c=child,
            )
        elif what == "create":
            new, _ = writer.create(PARENT)
            self.refer(writer, new, child)
            kept.append(lambda: self.documents.append(new))
        elif what == "create child":
            new, _ = writer.create(CHILD)
            self.refer(writer, document, new)
            kept.append(lambda: self.children.append(new))
        else:
            writer.sql("DELETE FROM dms.Document WHERE DocumentId = :id", id=document)
            kept.append(lambda: document in self.documents and len(self.documents) > 10 and self.documents.remove(document))
        if is_saved and self.random.random() < 0.5:
            writer.sql("ROLLBACK TO s")
        else:
            mine += kept

    @staticmethod
    def update(writer: Writer, what: str, ids: list[int]) -> None:
        writer.sql(f"UPDATE dms.Document SET {what} WHERE DocumentId = ANY (:ids)", ids=sorted(ids))

    @staticmethod
    def refer(writer: Writer, parent: int, child: int) -> None:
        statement = "INSERT INTO dms.ReferenceEdge (ParentDocumentId, ChildDocumentId) VALUES (:p, :c) ON CONFLICT DO NOTHING"
        writer.sql(statement, p=parent, c=child)


class Auditor(Reader):
    """A reader that also looks, once in a while, whether a window that it has finished has gained anything."""

    def __init__(self, journal: dj.Journal) -> None:
        super().__init__(journal, page_size=7)
        self.windows: list[tuple[int, int, dict[int, int]]] = []
        self.audits = 0

    def step(self) -> list[int]:
        first = self.passed + 1
        found = super().step()
        if self.passed >= first:
            self.windows.append((first, self.passed, {i: self.seen[i] for i in found}))
        return found

    def audit(self) -> None:
        """Finished windows can lose documents, which changed again, and never gain one (invariant 5)."""
        for first, last, found in self.windows[-4:]:
            changes = self.journal.changes(self.resource, dj.Window(first, last))
            now = {change.document_id: change.change_version for change in changes}
            assert now.items() <= found.items(), "a finished window gained a change"
            self.audits += 1

    def read(self, goes_on: Callable[[], bool]) -> None:
        while goes_on():
            for _ in range(50):
                self.step()
            self.audit()


def for_seconds(seconds: float) -> Callable[[], bool]:
    until = time.monotonic() + seconds
    return lambda: time.monotonic() < until


def mix(race: Race, seconds: float) -> Counter[str]:
    race.committed(lambda w: w.create())
    children = [i for i, _ in race.committed(*[lambda w: w.create(CHILD)] * 12)]
    documents = [i for i, _ in race.committed(*[lambda w: w.create()] * 40)]
    auditor = race.reader = Auditor(race.journal)
    programs = [Program(race, number, documents, children) for number in range(WRITERS)]
    goes_on = for_seconds(seconds)
    with ThreadPoolExecutor(WRITERS + 1) as threads:
        reading = threads.submit(auditor.read, goes_on)
        done = sum(threads.map(lambda program: program.run(goes_on), programs), Counter[str]())
        reading.result()
    assert race.missed() == {}
    auditor.audit()
    assert race.newest() == race.sequence()
    gone = set(race.look("SELECT DocumentId FROM dms.DocumentDeleteEvent WHERE ResourceKeyId = :r", r=race.ids[PARENT]).scalars())
    assert auditor.deleted == gone
    events = race.look(  # invariant 2, and invariant 7
        "SELECT count(*) FILTER (WHERE event.DocumentId IS NULL), count(*) FROM dms.Document AS d "
        "LEFT JOIN dms.DocumentChangeEvent AS event "
        "ON event.DocumentId = d.DocumentId AND event.ChangeVersion = greatest(d.ContentVersion, d.IdentityVersion)"
    ).one()
    assert events[0] == 0
    low = race.look(
        "SELECT count(*) FROM dms.DocumentDeleteEvent AS t JOIN dms.DocumentChangeEvent AS e USING (DocumentId) "
        "WHERE e.ChangeVersion > t.ChangeVersion"
    ).scalar_one()
    assert low == 0
    repeated = race.look(
        "SELECT count(*) FROM (SELECT ChangeVersion FROM dms.DocumentChangeEvent GROUP BY 1 HAVING count(*) > 1) AS twice"
    ).scalar_one()
    assert repeated == 0
    if "max_dep_identity_version" in migrate.installed(race.url).options:
        race.committed(lambda w: w.sql("SELECT dms.raise_pending()"))  # what writers in REPEATABLE READ left
        assert race.look("SELECT count(*) FROM dms.MaxDepIdentityPending").scalar_one() == 0
        assert race.wrongly_stored() == []
        assert race.missed() == {}
    done["windows"], done["audits"], done["documents"] = len(auditor.windows), auditor.audits, len(auditor.seen)
    print(dict(done))
    return done


@pytest.mark.acceptance("35")
def test_every_committed_change_is_seen_and_none_below_a_finished_window(race: Race) -> None:
    done = mix(race, 4)
    assert done["committed"] > 10  # on a busy machine, too
    assert done["windows"] > 2


@pytest.mark.long
@pytest.mark.acceptance("35")
def test_every_committed_change_is_seen_for_a_minute(race: Race) -> None:
    done = mix(race, 60)
    assert done["committed"] > 500
    assert done["windows"] > 20
