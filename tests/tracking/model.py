"""Random histories of plain SQL on tracked tables, and what a brute-force model says of them.

The model knows rows alone: what a row shows is the row itself, and of each row that it refers to the key and the shown columns.
Each row has a column `lifetime`, which nothing changes, so that a row is known again when its key has changed.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import psycopg

import dmsjournal as dj

TABLES = ("school", "student", "enrolment")
RESOURCES = {name: dj.ResourceKey("App", name, "1") for name in TABLES}
KEYS = {"school": ("id",), "student": ("number",), "enrolment": ("school", "student", "year")}
SHOWN = {"school": ("id", "name"), "student": ("number", "name"), "enrolment": KEYS["enrolment"]}
REFERENCES = {  # by table: its columns, and the table that each refers to
    "school": {"parent": "school"},
    "student": {"home": "school", "second": "school"},
    "enrolment": {"school": "school", "student": "student"},
}

SCHEMA = """
CREATE SCHEMA app;
CREATE TABLE app.school (id int PRIMARY KEY, name text, motto text, lifetime uuid DEFAULT gen_random_uuid(),
    parent int REFERENCES app.school ON DELETE SET NULL ON UPDATE CASCADE);
CREATE TABLE app.student (number text PRIMARY KEY, name text, note text, lifetime uuid DEFAULT gen_random_uuid(),
    home int REFERENCES app.school ON DELETE SET NULL ON UPDATE CASCADE,
    second int REFERENCES app.school ON DELETE SET NULL ON UPDATE CASCADE DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE app.enrolment (school int REFERENCES app.school ON DELETE CASCADE ON UPDATE CASCADE, grade text,
    lifetime uuid DEFAULT gen_random_uuid(), student text REFERENCES app.student ON DELETE CASCADE ON UPDATE CASCADE,
    year int, PRIMARY KEY (school, student, year));
"""

Rows = dict[str, dict[str, dict[str, Any]]]  # by table and lifetime


def read_rows(conn: psycopg.Connection[Any]) -> Rows:
    """All rows of the tables, in one statement."""
    one = " UNION ALL ".join(f"SELECT '{table}' AS name, to_jsonb(t) AS body FROM app.{table} AS t" for table in TABLES)
    rows: Rows = {table: {} for table in TABLES}
    for table, body in conn.execute(one):
        rows[table][body["lifetime"]] = body
    return rows


def key_of(table: str, row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(row[column] for column in KEYS[table])


def children_of(rows: Rows, table: str, row: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """The rows that a row refers to."""
    found = []
    for column, target in REFERENCES[table].items():
        found += [(target, other) for other in rows[target].values() if key_of(target, other) == (row[column],)]
    return found


def shown_of(rows: Rows, table: str, row: dict[str, Any]) -> tuple[Any, ...]:
    """What a row shows."""
    others = sorted(
        (target, tuple(other[c] for c in SHOWN[target]), other["lifetime"]) for target, other in children_of(rows, table, row)
    )
    return (tuple(sorted(row.items(), key=lambda item: item[0])), tuple(map(repr, others)))


def all_shown(rows: Rows) -> dict[tuple[str, str], Any]:
    return {(table, lifetime): shown_of(rows, table, row) for table in TABLES for lifetime, row in rows[table].items()}


@dataclass
class Documents:
    """What the journal has: by table and key, (DocumentId, uuid, derived version); the edges; and keys that two documents have."""

    found: dict[tuple[str, tuple[Any, ...]], tuple[int, str, int]] = field(default_factory=dict)
    edges: set[tuple[int, int]] = field(default_factory=set)
    doubled: list[Any] = field(default_factory=list)


def read_documents(conn: psycopg.Connection[Any]) -> Documents:
    documents = Documents()
    rows = conn.execute(
        """SELECT r.ResourceName, d.KeyValues, d.DocumentId, d.DocumentUuid::text, greatest(d.ContentVersion, d.IdentityVersion, (
               SELECT max(c.IdentityVersion) FROM dms.ReferenceEdge AS e JOIN dms.Document AS c ON c.DocumentId = e.ChildDocumentId
               WHERE e.ParentDocumentId = d.DocumentId)),
               ARRAY(SELECT e.ChildDocumentId FROM dms.ReferenceEdge AS e WHERE e.ParentDocumentId = d.DocumentId)
           FROM dms.Document AS d JOIN dms.ResourceKey AS r USING (ResourceKeyId)"""
    ).fetchall()
    for name, values, document_id, uuid, version, children in rows:
        key = (name, tuple(values[column] for column in KEYS[name]))
        if key in documents.found:
            documents.doubled.append(key)
        documents.found[key] = (document_id, uuid, version)
        documents.edges |= {(document_id, child) for child in children}
    return documents


def check(rows: Rows, documents: Documents) -> dict[tuple[str, str], tuple[int, str, int]]:
    """Each row has one document, each document a row, and the edges are what the rows refer to. Gives documents by lifetime."""
    assert documents.doubled == []
    keys = {(table, key_of(table, row)): (table, lifetime) for table in TABLES for lifetime, row in rows[table].items()}
    assert documents.found.keys() == keys.keys()
    wanted = {
        (documents.found[table, key_of(table, row)][0], documents.found[target, key_of(target, other)][0])
        for table in TABLES
        for row in rows[table].values()
        for target, other in children_of(rows, table, row)
    }
    assert documents.edges == wanted
    return {lifetime: documents.found[key] for key, lifetime in keys.items()}


class Writer:
    """A session, and what its transaction has changed so far as it saw it."""

    def __init__(self, conninfo: str) -> None:
        self.conn = psycopg.connect(conninfo, options="-c lock_timeout=15ms", prepare_threshold=None)
        self.touched: set[tuple[str, str]] = set()
        self.savepoints: list[set[tuple[str, str]]] = []
        self.is_open = False

    def run(self, statement: str) -> str | None:
        """Runs a statement; the SQLSTATE of a refusal, and nothing of it stands."""
        if not self.is_open:
            self.touched, self.savepoints, self.is_open = set(), [], True
        before = all_shown(read_rows(self.conn))
        try:
            with self.conn.transaction():
                self.conn.execute(statement)
        except psycopg.Error as error:
            return error.sqlstate or "?"
        after = all_shown(read_rows(self.conn))
        self.touched |= {lifetime for lifetime, shown in after.items() if before.get(lifetime) != shown}
        return None


class History:
    """A random history of two sessions, checked at each commit; a consumer reads windows in between, and misses nothing."""

    def __init__(self, conninfo: str, journal: dj.Journal, seed: int, steps: int) -> None:
        self.random = random.Random(seed)
        self.journal, self.steps = journal, steps
        self.onlooker = psycopg.connect(conninfo, autocommit=True)
        self.writers = [Writer(conninfo), Writer(conninfo)]
        self.log: list[str] = []
        self.uuids: dict[tuple[str, str], str] = {}
        self.copy: dict[int, Any] = {}  # what the consumer has, by document
        self.place = 0

    def close(self) -> None:
        for writer in self.writers:
            writer.conn.close()
        self.onlooker.close()

    def run(self) -> None:
        self.onlooker.execute("DELETE FROM app.enrolment; DELETE FROM app.student; DELETE FROM app.school")
        self.onlooker.execute("INSERT INTO app.school (id, name) VALUES (1, 'a'), (2, 'b')")
        self.place = self.journal.versions().newest
        self.copy = {document: shown for document, shown in self._current().items()}
        for _ in range(self.steps):
            writer = self.random.choice(self.writers)
            kind = self.random.random()
            if kind < 0.01:
                self._truncate()
            elif kind < 0.65:
                statement = self._statement()
                refused = writer.run(statement)
                self.log.append(f"{self.writers.index(writer)}: {statement}{f' -- {refused}' if refused else ''}")
            elif kind < 0.70 and writer.is_open:
                self._savepoint(writer)
            elif kind < 0.90:
                self._commit(writer)
            elif kind < 0.93:
                self.log.append(f"{self.writers.index(writer)}: ROLLBACK")
                writer.conn.rollback()
                writer.is_open = False
            else:
                self._consume()
        for writer in self.writers:
            self._commit(writer)
        self._consume()
        assert self.copy == self._current(), "the consumer has missed something"

    def _truncate(self) -> None:
        """Its lock stops every reader, so it is a transaction of its own."""
        for writer in self.writers:
            self._commit(writer)
        self.log.append("TRUNCATE app.enrolment")
        self.onlooker.execute("TRUNCATE app.enrolment")

    def _savepoint(self, writer: Writer) -> None:
        if writer.savepoints and self.random.random() < 0.5:
            self.log.append(f"{self.writers.index(writer)}: ROLLBACK TO s")
            writer.conn.execute("ROLLBACK TO s")
            writer.touched = set(writer.savepoints[-1])
        else:
            self.log.append(f"{self.writers.index(writer)}: SAVEPOINT s")
            writer.conn.execute("SAVEPOINT s")
            writer.savepoints.append(set(writer.touched))

    def _commit(self, writer: Writer) -> None:
        self.log.append(f"{self.writers.index(writer)}: COMMIT")
        rows, documents = read_rows(self.onlooker), read_documents(self.onlooker)
        shown, versions = all_shown(rows), check(rows, documents)
        newest = self.journal.versions().newest
        is_open, writer.is_open = writer.is_open, False
        try:
            writer.conn.commit()
        except psycopg.Error:  # a deferred constraint
            self.log.append("-- refused")
            return
        rows, documents = read_rows(self.onlooker), read_documents(self.onlooker)
        shown_now, versions_now = all_shown(rows), check(rows, documents)
        for lifetime, (document_id, uuid, version) in versions_now.items():
            assert self.uuids.setdefault(lifetime, uuid) == uuid, "a row's document is another one"
            if shown.get(lifetime) != shown_now[lifetime]:
                assert version > newest, f"{lifetime} has changed, document {document_id} is at {version}, read up to {newest}"
            elif not (is_open and lifetime in writer.touched):
                assert version == versions[lifetime][2], f"{lifetime} has not changed, document {document_id} is at {version}"
            if lifetime in versions and versions[lifetime][2] <= newest:  # above it, no reader has seen the version yet
                assert version >= versions[lifetime][2], f"document {document_id} has fallen to {version}"
        gone = {versions[lifetime][0] for lifetime in versions.keys() - versions_now.keys()}
        statement = "SELECT DocumentId FROM dms.DocumentDeleteEvent WHERE DocumentId = ANY (%s) ORDER BY 1"
        stones = [row[0] for row in self.onlooker.execute(statement, [list(gone)])]
        assert stones == sorted(gone), "a tombstone for each row that went"

    def _current(self) -> dict[int, Any]:
        """What each committed row shows, by its document."""
        rows, documents = read_rows(self.onlooker), read_documents(self.onlooker)
        shown, versions = all_shown(rows), check(rows, documents)
        return {versions[lifetime][0]: value for lifetime, value in shown.items()}

    def _consume(self) -> None:
        """Reads what has changed since, by pages of a random size."""
        newest = self.journal.versions().newest
        if newest == self.place:
            return
        window = dj.Window(min=self.place + 1, max=newest)
        current = self._current()
        for resource in RESOURCES.values():
            for change in self.journal.changes(resource, window, page_size=self.random.choice((1, 2, 7, 500))):
                if change.document_id in current:
                    self.copy[change.document_id] = current[change.document_id]
            for delete in self.journal.deletes(resource, window):
                self.copy.pop(delete.document_id, None)
        self.place = newest
        self.log.append(f"consumed up to {newest}")

    def _statement(self) -> str:
        r = self.random
        school, student = (lambda: r.randint(1, 5)), (lambda: f"'s{r.randint(1, 5)}'")
        name, maybe = (lambda: f"'{r.choice('abcd')}'"), (lambda: r.choice(["NULL", str(r.randint(1, 5))]))
        return r.choice(
            [
                lambda: (
                    f"INSERT INTO app.school (id, name, parent) VALUES ({school()}, {name()}, {maybe()}), ({school() + 5}, 'y', 1)"
                ),
                lambda: (
                    f"INSERT INTO app.school (id, name) VALUES ({school()}, {name()}) "
                    "ON CONFLICT (id) DO UPDATE SET name = excluded.name"
                ),
                lambda: "INSERT INTO app.school (id, name) SELECT g, 'x' FROM generate_series(1, 6) AS g ON CONFLICT DO NOTHING",
                lambda: (
                    f"INSERT INTO app.student (number, name, home, second) VALUES ({student()}, {name()}, {maybe()}, {maybe()})"
                ),
                lambda: (
                    "INSERT INTO app.student (number, home) SELECT 's' || g, s.id FROM generate_series(1, 4) AS g, "
                    "LATERAL (SELECT min(id) AS id FROM app.school) AS s ON CONFLICT DO NOTHING"
                ),
                lambda: f"INSERT INTO app.enrolment (school, student, year) VALUES ({school()}, {student()}, {r.randint(1, 2)})",
                lambda: (
                    "INSERT INTO app.enrolment (school, student, year) "
                    "SELECT s.id, t.number, 3 FROM app.school AS s, app.student AS t ON CONFLICT DO NOTHING"
                ),
                lambda: (
                    f"WITH s AS (INSERT INTO app.school (id, name) VALUES ({r.randint(10, 12)}, 'w') RETURNING id) "
                    f"INSERT INTO app.student (number, home) SELECT {student()}, id FROM s"
                ),
                lambda: f"UPDATE app.school SET motto = {name()} WHERE id = {school()}",
                lambda: f"UPDATE app.school SET name = {name()} WHERE id <= {school()}",
                lambda: f"UPDATE app.school SET id = {r.randint(1, 12)} WHERE id = {school()}",
                lambda: f"UPDATE app.school SET id = id + 20, motto = 'moved' WHERE id = {school()}",
                lambda: f"UPDATE app.school SET parent = {maybe()} WHERE id = {school()}",
                lambda: "UPDATE app.school SET name = name, motto = motto",
                lambda: f"UPDATE app.student SET home = {maybe()} WHERE number = {student()}",
                lambda: f"UPDATE app.student SET home = {maybe()}, second = home, name = {name()}",
                lambda: f"UPDATE app.student SET second = {maybe()} WHERE number = {student()}",
                lambda: f"UPDATE app.student SET number = {student()} WHERE number = {student()}",
                lambda: f"UPDATE app.enrolment SET grade = {name()} WHERE year = {r.randint(1, 3)}",
                lambda: f"UPDATE app.enrolment SET school = {school()} WHERE student = {student()} AND year = 1",
                lambda: f"UPDATE app.enrolment SET year = year + 10 WHERE school = {school()}",
                lambda: f"DELETE FROM app.school WHERE id = {school()}",
                lambda: f"DELETE FROM app.student WHERE number = {student()}",
                lambda: f"DELETE FROM app.enrolment WHERE school = {school()}",
                lambda: "DELETE FROM app.school WHERE parent IS NOT NULL",
                lambda: (
                    f"MERGE INTO app.student AS t USING (VALUES ({student()}, {name()}), ('s6', 'm')) AS w (n, v) "
                    "ON t.number = w.n WHEN MATCHED AND w.v = 'a' THEN DELETE WHEN MATCHED THEN UPDATE SET name = w.v "
                    "WHEN NOT MATCHED THEN INSERT (number, name) VALUES (w.n, w.v)"
                ),
                lambda: f"WITH d AS (DELETE FROM app.enrolment WHERE school = {school()}) UPDATE app.student SET note = {name()}",
            ]
        )()


def histories(conninfo: str, journal: dj.Journal, seeds: range, steps: int) -> Iterator[int]:
    """Runs a history for each seed; an error names the seed and tells the statements."""
    for seed in seeds:
        history = History(conninfo, journal, seed, steps)
        try:
            history.run()
        except BaseException as error:
            error.add_note("\n".join([f"seed {seed}", *history.log]))
            raise
        finally:
            history.close()
        yield seed
