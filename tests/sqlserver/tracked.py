"""Tracked tables in T-SQL: what their rows show, by plain SQL, and random histories of sessions that write them."""

# ruff: noqa: E501  # statements, each in one line

import json
import random
from collections.abc import Callable
from typing import Any

import sqlalchemy as sa

import dmsjournal as dj

Sql = Callable[..., list[Any]]
Key = tuple[str, Any]  # a row: its table and its key
TABLES = ("school", "student", "enrolment")


def literal(text: str) -> str:
    return text.replace("'", "''")


def track(sql: Sql, *tables: dj.TrackedTable, fills: bool = True) -> None:
    """Tracks tables and fills them, as a DBA does in T-SQL."""
    for one in tables:
        name, given = literal(one.table), one.resource
        shows, columns = (
            None if names is None else json.dumps(list(names), ensure_ascii=False) for names in (one.shows, one.columns)
        )
        texts = {"resource": given and given.resource_name, "shows": shows, "columns": columns}
        said = "".join(f", @{key} = N'{literal(value)}'" for key, value in texts.items() if value is not None)
        sql(f"EXEC dms.track N'{name}'{said}, @bodies = {int(one.bodies)}")
        if fills:
            sql(f"EXEC dms.fill_table N'{name}'")


def resource(app: str, name: str) -> dj.ResourceKey:
    return dj.ResourceKey(app, name, "1")


def documents(sql: Sql, app: str, table: str) -> dict[Any, tuple[int, int, int]]:
    """By key: DocumentId, ContentVersion, IdentityVersion."""
    by_id = keys(sql, app, table)
    found = {key: (document_id, *versions) for document_id, (key, *versions) in by_id.items()}
    assert len(found) == len(by_id), "two documents of one key"
    return found


def keys(sql: Sql, app: str, table: str) -> dict[int, tuple[Any, int, int]]:
    """By DocumentId: the key, ContentVersion, IdentityVersion."""
    rows = sql(
        "SELECT d.KeyValues, d.DocumentId, d.ContentVersion, d.IdentityVersion FROM dms.Document AS d"
        " INNER JOIN dms.ResourceKey AS r ON r.ResourceKeyId = d.ResourceKeyId"
        f" WHERE r.ProjectName = N'{app}' AND r.ResourceName = N'{table}'"
    )
    values = [tuple(json.loads(row[0]).values()) for row in rows]
    return {row[1]: (key[0] if len(key) == 1 else key, row[2], row[3]) for key, row in zip(values, rows, strict=True)}


def edges(sql: Sql) -> set[tuple[int, int]]:
    return {tuple(row) for row in sql("SELECT ParentDocumentId, ChildDocumentId FROM dms.ReferenceEdge")}


def create(sql: Sql, app: str) -> None:
    """Three tables, not tracked yet: schools, students, and enrolments of students in schools."""
    sql(f"CREATE TABLE {app}.school (id int NOT NULL PRIMARY KEY, name nvarchar(9) NULL, motto nvarchar(9) NULL)")
    sql(
        f"CREATE TABLE {app}.student (id int NOT NULL PRIMARY KEY, name nvarchar(9) NULL, school int NULL REFERENCES {app}.school (id)"
        " ON UPDATE CASCADE)"
    )
    sql(
        f"CREATE TABLE {app}.enrolment (school int NOT NULL REFERENCES {app}.school (id) ON DELETE CASCADE,"
        f" student int NOT NULL REFERENCES {app}.student (id), grade nvarchar(9) NULL, PRIMARY KEY (school, student))"
    )


def three(app: str) -> list[dj.TrackedTable]:
    """How the three are tracked."""
    return [dj.TrackedTable(f"{app}.{name}", shows=["name"] if name != "enrolment" else None) for name in TABLES]


def prepare(sql: Sql, app: str) -> None:
    """Creates the three tables and tracks them."""
    create(sql, app)
    track(sql, *three(app))


def shown_of(sql: Sql, app: str) -> dict[Key, Any]:
    """What each row shows: itself, and of each row that it refers to which one it is and what is shown of it."""
    schools = {row[0]: tuple(row) for row in sql(f"SELECT id, name, motto FROM {app}.school")}
    students = {row[0]: tuple(row) for row in sql(f"SELECT id, name, school FROM {app}.student")}
    enrolments = {(row[0], row[1]): tuple(row) for row in sql(f"SELECT school, student, grade FROM {app}.enrolment")}

    def school(key: int) -> tuple[Key, Any]:
        return ("school", key), schools[key][:2]

    def student(key: int) -> tuple[Key, Any]:
        return ("student", key), students[key][:2]

    shown: dict[Key, Any] = {("school", key): (row,) for key, row in schools.items()}
    shown |= {("student", key): (row,) if row[2] is None else (row, school(row[2])) for key, row in students.items()}
    return shown | {("enrolment", key): (row, school(key[0]), student(key[1])) for key, row in enrolments.items()}


class Writer:
    """A session that waits for no lock for long, and what its transaction has changed so far, as it saw it."""

    def __init__(self, conn: sa.Connection, app: str, patience: int = 50) -> None:
        self.conn, self.app = conn, app
        self.touched: set[Key] = set()
        self.saved: set[Key] | None = None
        self.conn.rollback()
        self.conn.exec_driver_sql(f"SET LOCK_TIMEOUT {patience}")  # milliseconds
        self.conn.commit()

    def run(self, statement: str) -> bool:
        """Runs a statement. One that fails takes its transaction with it: on SQL Server it does so wherever a trigger is on."""
        before = self._all_shown()
        try:
            self.conn.exec_driver_sql(statement)
        except sa.exc.DBAPIError:  # a key that is there, a school that is not, a row that the other session holds
            self.rollback()
            return False
        after = self._all_shown()
        self.touched |= {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}
        return True

    def save(self) -> None:
        self.conn.exec_driver_sql("SAVE TRANSACTION s")
        self.saved = set(self.touched)

    def take_back(self) -> None:
        self.conn.exec_driver_sql("ROLLBACK TRANSACTION s")
        self.touched, self.saved = self.saved or set(), None

    def commit(self) -> None:
        self.conn.commit()
        self.touched, self.saved = set(), None

    def rollback(self) -> None:
        self.conn.rollback()
        self.touched, self.saved = set(), None

    def _all_shown(self) -> dict[Key, Any]:
        return shown_of(lambda statement: list(self.conn.exec_driver_sql(statement)), self.app)


class Consumer:
    """Reads windows, and keeps what the rows show, by document."""

    def __init__(self, journal: dj.Journal, sql: Sql, app: str, has_nothing: bool = False) -> None:
        self.journal, self.sql, self.app = journal, sql, app
        self.place = 0 if has_nothing else journal.versions().newest
        self.copy: dict[int, Any] = {} if has_nothing else self._shown()

    def read(self, page_size: int = 500) -> list[int]:
        """Takes in what has changed since; the documents that it was told of."""
        newest, told = self.journal.versions().newest, []
        if newest > self.place:
            window, shown = dj.Window(min=self.place + 1, max=newest), self._shown()
            for name in TABLES:
                for change in self.journal.changes(resource(self.app, name), window, page_size=page_size):
                    told.append(change.document_id)
                    if change.document_id in shown:
                        self.copy[change.document_id] = shown[change.document_id]
                for delete in self.journal.deletes(resource(self.app, name), window):
                    self.copy.pop(delete.document_id, None)
            self.place = newest
        return told

    def agrees(self) -> bool:
        """It has what the rows show, where no transaction is open and it has read all."""
        assert self.copy == {document_id: shown for document_id, _, shown in self.committed().values()}
        return True

    def committed(self) -> dict[Key, tuple[int, int, Any]]:
        """By row: its document, the version that is derived for it, what it shows. Rows have documents, and foreign keys edges."""
        shown = shown_of(self.sql, self.app)
        found = {(name, key): row for name in TABLES for key, row in documents(self.sql, self.app, name).items()}
        assert found.keys() == shown.keys()
        children = {key: [child for child, _ in others] for key, (_, *others) in shown.items()}
        assert edges(self.sql) == {(found[key][0], found[child][0]) for key in children for child in children[key]}
        versions = {
            key: max(content, identity, *(found[child][2] for child in children[key]))
            for key, (_, content, identity) in found.items()
        }
        return {key: (found[key][0], versions[key], shown[key]) for key in found}

    def _shown(self) -> dict[int, Any]:
        """What each row shows, by its document. While a table is filled, a row may have none, or two."""
        shown = shown_of(self.sql, self.app)
        found = {document_id: (name, row[0]) for name in TABLES for document_id, row in keys(self.sql, self.app, name).items()}
        return {document_id: shown[key] for document_id, key in found.items() if key in shown}


class History:
    """Random statements of sessions, in transactions that commit, roll back or go back to a savepoint; a consumer reads in between."""

    def __init__(self, journal: dj.Journal, sql: Sql, writers: list[Writer], app: str, seed: int) -> None:
        self.sql, self.writers, self.app = sql, writers, app
        self.chance = random.Random(seed)
        self.log = [f"seed {seed}"]
        for table in reversed(TABLES):
            sql(f"DELETE FROM {app}.{table}")
        self.consumer = Consumer(journal, sql, app)

    def run(self, steps: int) -> None:
        try:
            for _ in range(steps):
                self._step(self.chance.randrange(len(self.writers)), self.chance.random())
            for number in range(len(self.writers)):
                self._commit(number)
            self._read()
            assert self.consumer.agrees()
        except BaseException as error:
            error.add_note("\n".join(self.log))
            raise

    def _step(self, number: int, kind: float) -> None:
        writer = self.writers[number]
        if kind < 0.6:
            statement = self._statement()
            self.log.append(f"{number}: {statement}")
            if not writer.run(statement):
                self.log.append(f"{number}: -- failed, and was rolled back")
        elif kind < 0.66:
            self.log.append(f"{number}: SAVE TRANSACTION s")
            writer.save()
        elif kind < 0.72 and writer.saved is not None:
            self.log.append(f"{number}: ROLLBACK TRANSACTION s")
            writer.take_back()
        elif kind < 0.76:
            self.log.append(f"{number}: ROLLBACK")
            writer.rollback()
        elif kind < 0.92:
            self._commit(number)
        else:
            self._read()

    def _commit(self, number: int) -> None:
        """What a commit changes is above what a reader could have read before it; what it does not change stays where it is."""
        writer, before, newest = self.writers[number], self.consumer.committed(), self.consumer.journal.versions().newest
        touched = set(writer.touched)
        self.log.append(f"{number}: COMMIT")
        writer.commit()
        earlier = {document_id: (version, shown) for document_id, version, shown in before.values()}
        after = self.consumer.committed()
        for key, (document_id, version, shown) in after.items():
            was, showed = earlier.get(document_id, (0, None))
            if showed != shown:
                assert version > newest, f"{key} has changed, and is at {version}; a reader may have read up to {newest}"
            elif key not in touched:
                assert version == was, f"{key} has not changed, and went from {was} to {version}"
        gone = earlier.keys() - {document_id for document_id, _, _ in after.values()}
        listed = ", ".join(map(str, [0, *gone]))
        stones = self.sql(
            f"SELECT DocumentId FROM dms.DocumentDeleteEvent WHERE ChangeVersion > {newest} AND DocumentId IN ({listed})"
        )
        assert sorted(row[0] for row in stones) == sorted(gone), "each row that went has a tombstone, and one"

    def _read(self) -> None:
        self.consumer.read(self.chance.choice((1, 3, 500)))
        self.log.append(f"read up to {self.consumer.place}")

    def _statement(self) -> str:
        chance, app = self.chance, self.app
        a, b, name = chance.randint(1, 6), chance.randint(1, 6), chance.choice("pqr")
        return chance.choice(
            [
                f"INSERT INTO {app}.school (id, name) VALUES ({a}, N'{name}'), ({a + 6}, N'{name}')",
                f"INSERT INTO {app}.school (id, name) SELECT n, N'{name}' FROM (VALUES ({a}), ({b}), (7)) AS v (n)"
                f" WHERE n NOT IN (SELECT id FROM {app}.school) GROUP BY n",
                f"INSERT INTO {app}.student (id, name, school) VALUES ({a}, N'{name}', {b})",
                f"INSERT INTO {app}.student (id, name, school) SELECT s.id + 10, N'{name}', s.id FROM {app}.school AS s WHERE s.id <= {b}",
                f"INSERT INTO {app}.enrolment (school, student) SELECT s.id, t.id FROM {app}.school AS s CROSS JOIN {app}.student AS t"
                f" WHERE s.id <= {a} AND NOT EXISTS (SELECT * FROM {app}.enrolment AS e WHERE e.school = s.id AND e.student = t.id)",
                f"UPDATE {app}.school SET name = N'{name}' WHERE id IN ({a}, {b})",
                f"UPDATE {app}.school SET motto = N'{name}' WHERE id <= {a}",
                f"UPDATE {app}.school SET name = name, motto = motto",
                f"UPDATE {app}.school SET id = {b + 20} WHERE id = {a}",
                f"UPDATE {app}.school SET id = id - 20 WHERE id > 20",
                f"UPDATE {app}.student SET school = {b}, name = N'{name}' WHERE id <= {a}",
                f"UPDATE {app}.student SET school = NULL WHERE id = {a}",
                f"UPDATE {app}.student SET id = id + 30 WHERE id IN ({a}, {b})",
                f"UPDATE {app}.enrolment SET grade = N'{name}' WHERE student <= {a}",
                f"UPDATE {app}.enrolment SET student = {b} WHERE school = {a}",
                f"DELETE FROM {app}.enrolment WHERE school IN ({a}, {b})",
                f"DELETE FROM {app}.student WHERE id > 20",
                f"DELETE FROM {app}.student WHERE id NOT IN (SELECT student FROM {app}.enrolment) AND id = {a}",
                f"DELETE FROM {app}.school WHERE id IN ({a}, {b + 6})",
            ]
        )
