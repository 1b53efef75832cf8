"""Two sessions that write tracked tables, in T-SQL: each change is told, and none twice (acceptance 25b, 28, 31, 65 to 72).

One database and one set of tracked tables serve all tests of the module, which empties them before each.
"""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait

import pytest
import sqlalchemy as sa

import dmsjournal as dj
from tests.helpers import commit
from tests.sqlserver.tracked import TABLES, Consumer, History, Sql, Writer, prepare, three, track

pytestmark = pytest.mark.xdist_group("tracked races")

APP = "races"


@pytest.fixture(scope="module")
def sessions(database: str) -> Iterator[list[sa.Connection]]:
    """Three, for all tests: a stand-in needs seconds to warm each up. The third one reads what is committed."""
    engine = sa.create_engine(database, poolclass=sa.NullPool)
    with engine.connect() as first, engine.connect() as second, engine.connect() as onlooker:
        commit(onlooker, f"CREATE SCHEMA {APP}")
        prepare(lambda statement: commit(onlooker, statement), APP)
        yield [first, second, onlooker]


@pytest.fixture
def journal(library: dj.Journal, sqlserver_server, request: pytest.FixtureRequest) -> dj.Journal:
    sqlserver_server.expect(request.node)
    return library


@pytest.fixture
def sql(sessions: list[sa.Connection]) -> Sql:
    """Runs a statement in a transaction of its own. The tables are empty, and no transaction is open."""
    for conn in sessions:
        conn.rollback()
    for table in reversed(TABLES):
        commit(sessions[2], f"DELETE FROM {APP}.{table}")
    return lambda statement: commit(sessions[2], statement)


class Race:
    """Two sessions that wait for each other, and a consumer."""

    def __init__(self, journal: dj.Journal, sql: Sql, app: str, first: sa.Connection, second: sa.Connection) -> None:
        self.sql, self.app, self.first, self.second = sql, app, first, second
        self.journal = journal
        self.pool = ThreadPoolExecutor(1)

    def rows(self, *statements: str) -> Consumer:
        """Statements, each committed, and a consumer that has what they did."""
        for statement in statements:
            self.sql(statement.format(app=self.app))
        return Consumer(self.journal, self.sql, self.app)

    def run(self, conn: sa.Connection, statement: str) -> None:
        conn.exec_driver_sql(statement.format(app=self.app))

    def begun(self, statement: str) -> Future[None]:
        """The second session's statement, which may wait for the first one."""
        waiting = self.pool.submit(self.run, self.second, statement)
        wait([waiting], timeout=3)
        return waiting


@pytest.fixture
def race(journal: dj.Journal, sessions: list[sa.Connection], sql: Sql) -> Iterator[Race]:
    first, second, _ = sessions
    for conn in (first, second):
        conn.exec_driver_sql("SET LOCK_TIMEOUT 20000")
        conn.commit()
    race = Race(journal, sql, APP, first, second)
    yield race
    race.pool.shutdown()
    for conn in (first, second):
        conn.rollback()


@pytest.fixture
def writers(sessions: list[sa.Connection], sql: Sql) -> list[Writer]:
    return [Writer(conn, APP) for conn in sessions[:2]]


@pytest.mark.acceptance("65", "66", "67", "68", "70")
def test_random_histories(journal: dj.Journal, writers: list[Writer], sql: Sql) -> None:
    """Documents are the rows, edges the foreign keys, and a consumer that reads windows has what the rows show."""
    for seed in range(4):
        History(journal, sql, writers, APP, seed).run(25)
    assert journal.verify().findings == ()


@pytest.mark.long
@pytest.mark.timeout(7200)
@pytest.mark.acceptance("65", "66", "67", "68", "70")
def test_a_thousand_random_histories(journal: dj.Journal, writers: list[Writer], sql: Sql) -> None:
    for seed in range(1_000, 2_000):
        History(journal, sql, writers, APP, seed).run(20)
    assert journal.verify().findings == ()


@pytest.mark.acceptance("31")
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE {app}.student SET name = N'new' WHERE id = 1",
        "INSERT INTO {app}.student (id) VALUES (9)",
        "DELETE FROM {app}.student WHERE id = 1",
        "UPDATE {app}.student SET id = 9 WHERE id = 1",
    ],
)
def test_a_plain_statement_that_is_not_committed_holds_newest(race: Race, statement: str) -> None:
    consumer = race.rows(
        "INSERT INTO {app}.school (id) VALUES (1)", "INSERT INTO {app}.student (id, school) VALUES (1, 1), (2, NULL)"
    )
    race.run(race.first, statement)
    race.run(race.second, "UPDATE {app}.student SET name = N'newer' WHERE id = 2")
    race.second.commit()
    assert race.journal.versions().newest == consumer.place
    race.first.commit()
    assert consumer.committed()["student", 2][0] in consumer.read()
    assert consumer.agrees()


@pytest.mark.acceptance("25b", "66")
@pytest.mark.parametrize(
    "way", ["INSERT INTO {app}.student (id, school) VALUES (2, 1)", "UPDATE {app}.student SET school = 1 WHERE id = 1"]
)
@pytest.mark.parametrize("begins_first", ["referrer", "rename"])
@pytest.mark.parametrize("commits_first", ["first", "second"])
def test_a_rename_meets_a_new_referrer(race: Race, way: str, begins_first: str, commits_first: str) -> None:
    """Each row that shows the new name is told after it. Where the second session has to wait, the first one commits first."""
    consumer = race.rows(
        "INSERT INTO {app}.school (id) VALUES (1)", "INSERT INTO {app}.student (id, school) VALUES (1, NULL), (3, 1)"
    )
    rename = "UPDATE {app}.school SET name = N'new'"
    earlier, later = (way, rename) if begins_first == "referrer" else (rename, way)
    race.run(race.first, earlier)
    waiting = race.begun(later)
    consumer.read()
    if commits_first == "second" and waiting.done():
        race.second.commit()
        consumer.read()
    race.first.commit()
    consumer.read()
    waiting.result(20)
    race.second.commit()
    consumer.read()
    assert consumer.agrees()


@pytest.mark.acceptance("67")
def test_a_key_changes_while_a_referrer_comes(race: Race) -> None:
    consumer = race.rows("INSERT INTO {app}.school (id) VALUES (1), (2)")
    race.run(race.first, "INSERT INTO {app}.student (id, school) VALUES (1, 1)")
    waiting = race.begun("UPDATE {app}.school SET id = 11 WHERE id = 1")
    race.first.commit()
    waiting.result(20)
    consumer.read()
    race.second.commit()
    consumer.read()
    assert consumer.committed()["student", 1][2][0] == (1, None, 11)
    assert consumer.agrees()


@pytest.mark.acceptance("28", "68")
def test_a_delete_meets_a_new_referrer(race: Race) -> None:
    consumer = race.rows("INSERT INTO {app}.school (id) VALUES (1)", "INSERT INTO {app}.student (id) VALUES (1)")
    race.run(race.first, "INSERT INTO {app}.enrolment (school, student) VALUES (1, 1)")
    waiting = race.begun("DELETE FROM {app}.school")
    assert not waiting.done()
    race.first.commit()
    waiting.result(20)
    consumer.read()
    race.second.commit()
    consumer.read()
    assert consumer.committed().keys() == {("student", 1)}
    assert consumer.agrees()


@pytest.mark.acceptance("28")
def test_a_referrer_of_a_row_that_is_being_deleted_is_refused(race: Race) -> None:
    consumer = race.rows("INSERT INTO {app}.school (id) VALUES (1)", "INSERT INTO {app}.student (id) VALUES (1)")
    race.run(race.first, "DELETE FROM {app}.school")
    waiting = race.begun("INSERT INTO {app}.enrolment (school, student) VALUES (1, 1)")
    assert not waiting.done()
    race.first.commit()
    with pytest.raises(sa.exc.IntegrityError):
        waiting.result(20)
    race.second.rollback()
    consumer.read()
    assert consumer.agrees()


@pytest.mark.acceptance("72")
@pytest.mark.parametrize("begins_first", ["writer", "fill"])
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE {app}.school SET name = N'new' WHERE id <= 2",
        "UPDATE {app}.school SET id = 9 WHERE id = 1",
        "INSERT INTO {app}.student (id, school) VALUES (9, 1)",
    ],
)
def test_a_fill_meets_a_writer(race: Race, statement: str, begins_first: str) -> None:
    """Of rows that something refers to, whose documents the fills of what refers to them have made."""
    begin_a_fill(race, "student", "enrolment")
    assert meet(race, statement, begins_first)


@pytest.mark.acceptance("72")
@pytest.mark.parametrize(
    ("begins_first", "statement"),
    [("writer", "UPDATE {app}.school SET motto = N'new' WHERE id = 3"), ("fill", "DELETE FROM {app}.school WHERE id = 3")],
    ids=["writer first", "fill first"],
)
def test_a_fill_meets_a_writer_of_a_row_without_a_document(race: Race, begins_first: str, statement: str) -> None:
    """The fill locks rows that it makes documents for, and passes those by that a writer has locked; a later pass finds them."""
    begin_a_fill(race)
    assert meet(race, statement, begins_first)


def begin_a_fill(race: Race, *filled: str) -> None:
    """Schools that were there before their triggers; the fills of other tables, which have references to them to make."""
    race.sql(f"EXEC dms.untrack N'{race.app}.school'")
    race.sql(f"INSERT INTO {race.app}.school (id) VALUES (1), (2), (3)")
    race.sql(f"INSERT INTO {race.app}.student (id, school) VALUES (1, 1), (2, 2)")
    track(race.sql, *(table for table in three(race.app) if table.table.endswith("school")), fills=False)
    for name in filled:
        race.sql(f"EXEC dms.fill_table N'{race.app}.{name}'")


def meet(race: Race, statement: str, begins_first: str) -> bool:
    """A statement and the fill of the schools, and then what is left of all fills: each row has one document, and a consumer it."""
    fill = "EXEC dms.fill_table N'{app}.school'"
    consumer = Consumer(race.journal, race.sql, race.app, has_nothing=True)
    earlier, later = (statement, fill) if begins_first == "writer" else (fill, statement)
    race.run(race.first, earlier)
    waiting = race.begun(later)
    consumer.read()
    race.first.commit()
    waiting.result(20)
    consumer.read()
    race.second.commit()
    for name in TABLES:
        race.sql(f"EXEC dms.fill_table N'{race.app}.{name}'")
    consumer.read()
    assert race.journal.verify().findings == ()
    return consumer.agrees()
