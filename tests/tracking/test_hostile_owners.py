"""Attacks on tracking: nothing that another role owns runs with the installing role's rights unless an operator trusts that role.

The installing role is no superuser. Mallory owns schemas, tables, parts of tables, functions and operators. The planner evaluates
immutable functions in indexes, constraints, statistics and partition keys for each role that reads the table, so a read is enough.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa
from typer.testing import CliRunner

import dmsjournal as dj
from dmsjournal.cli import app
from dmsjournal.schema import migrate
from tests.helpers import in_psycopg

SPY = """
CREATE SCHEMA spy; GRANT USAGE ON SCHEMA spy TO PUBLIC; CREATE SEQUENCE spy.ran; GRANT ALL ON SEQUENCE spy.ran TO PUBLIC;
CREATE SCHEMA evil AUTHORIZATION {mallory}; GRANT USAGE ON SCHEMA evil TO PUBLIC;
SET ROLE {mallory};
CREATE FUNCTION evil.spy() RETURNS void LANGUAGE plpgsql AS
    $$ BEGIN IF current_user <> '{mallory}' THEN PERFORM nextval('spy.ran'); END IF; END $$;
CREATE FUNCTION evil.f(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN PERFORM evil.spy(); RETURN 1; END';
CREATE FUNCTION evil.is(int) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS 'BEGIN PERFORM evil.spy(); RETURN true; END';
CREATE FUNCTION evil.plus(int, int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN PERFORM evil.spy(); RETURN 1; END';
CREATE OPERATOR evil.@#@ (LEFTARG = int, RIGHTARG = int, FUNCTION = evil.plus);
CREATE DOMAIN evil.number AS int CHECK (evil.f(1) > 0);
RESET ROLE
"""


@dataclass(frozen=True)
class Scene:
    """A database with option tracking, whose roles are `installer` and `mallory`; both may create in schema app of each test."""

    url: str
    admin: psycopg.Connection[Any]
    names: dict[str, str]

    def run(self, role: str, *statements: str) -> None:
        """Statements of a role, each committed."""
        self.admin.execute(f"SET ROLE {self.names[role]}")
        try:
            for statement in statements:
                self.admin.execute(statement.format(**self.names))
        finally:
            self.admin.execute("RESET ROLE")

    def url_of(self, role: str) -> str:
        return sa.make_url(self.url).set(username=self.names[role], password="secret").render_as_string(hide_password=False)

    def journal(self) -> dj.Journal:
        return dj.connect(self.url_of("installer"))

    @property
    def has_run(self) -> bool:
        [(called,)] = self.admin.execute("SELECT is_called FROM spy.ran")
        return bool(called)


@pytest.fixture(scope="module")
def database(postgres_server: Any) -> Iterator[Scene]:
    with postgres_server.fresh_database() as url, psycopg.connect(in_psycopg(url), autocommit=True) as admin:
        name = admin.info.dbname
        names = {role: f"{role}_{name}" for role in ("installer", "mallory", "reader")}
        scene = Scene(url, admin, names)
        for role in names.values():
            admin.execute(f"CREATE ROLE {role} LOGIN PASSWORD 'secret'")
        admin.execute(f"GRANT CREATE ON DATABASE {name} TO {names['installer']}")
        admin.execute(SPY.format(**names))
        migrate.upgrade(scene.url_of("installer"), options=["tracking"])
        scene.run("installer", "GRANT USAGE ON SCHEMA dms TO {reader}", "GRANT SELECT ON ALL TABLES IN SCHEMA dms TO {reader}")
        scene.run(
            "installer", "GRANT EXECUTE ON FUNCTION dms.tracked_bodies(bigint[]), dms.tracked_body_query(smallint) TO {reader}"
        )
        yield scene
        for role in names.values():
            admin.execute(f"DROP OWNED BY {role} CASCADE")
        for role in names.values():
            admin.execute(f"DROP ROLE {role}")


@pytest.fixture
def scene(database: Scene) -> Iterator[Scene]:
    database.admin.execute("CREATE SCHEMA app; SELECT setval('spy.ran', 1, false)")
    database.admin.execute(
        "GRANT ALL ON SCHEMA app TO {installer}, {mallory}; GRANT USAGE ON SCHEMA app TO {reader}".format(**database.names)
    )
    yield database
    with database.journal() as journal:
        for one in journal.tracked():
            journal.untrack(one.table)
    database.admin.execute("DROP SCHEMA app CASCADE")


TABLE = "CREATE TABLE app.a (id int PRIMARY KEY, n text)"
INDEX = "CREATE INDEX evil ON app.a ((evil.f(1) + id))"


def planted(scene: Scene, by: str) -> None:
    """A table app.a that the installing role may track, and what Mallory has planted on it."""
    if by == "owner":
        scene.run("mallory", TABLE, INDEX, "GRANT ALL ON app.a TO {installer}")
    elif by == "part":
        scene.run("installer", "CREATE TABLE app.a (id int PRIMARY KEY, n text) PARTITION BY RANGE (id)")
        scene.run("installer", "CREATE TABLE app.part PARTITION OF app.a FOR VALUES FROM (0) TO (100)")
        scene.admin.execute("ALTER TABLE app.part OWNER TO {mallory}; GRANT ALL ON app.part TO {installer}".format(**scene.names))
        scene.run("mallory", "CREATE INDEX evil ON app.part ((evil.f(1) + id))")
    else:
        scene.run("installer", TABLE, PLANTED[by])
    scene.admin.execute("INSERT INTO app.a VALUES (1, 'x'); SELECT setval('spy.ran', 1, false)")


PLANTED = {
    "index": INDEX,
    "predicate": "CREATE INDEX evil ON app.a (n) WHERE evil.is(1)",
    "operator": "CREATE INDEX evil ON app.a ((1 OPERATOR(evil.@#@) 1))",
    "domain": "CREATE INDEX evil ON app.a ((CAST(1 AS evil.number)))",
    "check": "ALTER TABLE app.a ADD CHECK (evil.is(1))",
    "statistics": "CREATE STATISTICS app.evil ON (evil.f(1) + id), n FROM app.a",
}


@pytest.mark.parametrize("by", ["owner", "part", *PLANTED])
def test_a_table_that_runs_code_of_another_role_needs_trust(scene: Scene, by: str) -> None:
    planted(scene, by)
    with scene.journal() as journal:
        for attempt in (journal.track, journal.tracking_plan):
            with pytest.raises(dj.UnsupportedCapability, match=rf"belongs to role {scene.names['mallory']}.* would run with them"):
                attempt(dj.TrackedTable("app.a"))
        assert not scene.has_run
        if by in ("owner", "part", "index"):
            journal.track(dj.TrackedTable("app.a", trust=True))
            journal.renew_tracking("app.a")  # it remembers
            assert [one.state for one in journal.tracked()] == [None]


@pytest.mark.parametrize("by", ["owner", *PLANTED])
def test_the_planner_does_run_what_is_planted(scene: Scene, by: str) -> None:
    """The trap works: a plain read falls into it."""
    planted(scene, by)
    with psycopg.connect(in_psycopg(scene.url_of("installer"))) as session:  # a session remembers what it has evaluated
        session.execute("SET constraint_exclusion = on")  # by default, the checks of parts alone
        session.execute("SELECT n FROM app.a WHERE id = 1")
    assert scene.has_run


@pytest.mark.parametrize("attack", ["replaced", "given", "index", "part"])
def test_a_table_that_changes_after_track_runs_nothing(scene: Scene, attack: str) -> None:
    """The owner of a schema may drop a table in it, and our view with it, and make another one under its name."""
    scene.run("installer", TABLE + (" PARTITION BY RANGE (id)" if attack == "part" else ""))
    if attack == "part":
        scene.run("installer", "CREATE TABLE app.part PARTITION OF app.a DEFAULT")
    with scene.journal() as journal:
        journal.track(dj.TrackedTable("app.a"))
        if attack == "replaced":
            scene.admin.execute("ALTER SCHEMA app OWNER TO {mallory}".format(**scene.names))
            scene.run("mallory", "DROP TABLE app.a CASCADE", TABLE, "GRANT ALL ON app.a TO {installer}", INDEX)
        elif attack == "index":
            scene.run("installer", INDEX)
        else:
            table = "app.a" if attack == "given" else "app.part"
            scene.admin.execute(
                f"ALTER TABLE {table} OWNER TO {{mallory}}; GRANT ALL ON {table} TO {{installer}}".format(**scene.names)
            )
            scene.run("mallory", INDEX.replace("app.a", table))
        scene.admin.execute(
            "SET session_replication_role = replica; INSERT INTO app.a VALUES (1, 'x'); RESET session_replication_role"
        )
        scene.admin.execute("CREATE TABLE app.b (id int PRIMARY KEY REFERENCES app.a (id)); INSERT INTO app.b VALUES (1)")
        scene.admin.execute("GRANT ALL ON app.b TO {installer}; SELECT setval('spy.ran', 1, false)".format(**scene.names))
        [listed] = journal.tracked()
        assert f"belongs to role {scene.names['mallory']}" in str(listed.state)
        assert {"tracking-untrusted", "object-foreign"} & {each.code for each in journal.verify().findings}
        assert not journal.repair().left.is_clean
        for refused in (
            lambda: journal.renew_tracking("app.a"),
            lambda: journal.track(dj.TrackedTable("app.b")),  # whose foreign key makes the triggers of app.a anew
        ):
            with pytest.raises(dj.UnsupportedCapability, match=f"belongs to role {scene.names['mallory']}"):
                refused()
        assert not scene.has_run
        renew = ["track", "--renew", "app.a", "--trust", "table app.a"]
        assert CliRunner().invoke(app, renew, env={"DMSJOURNAL_URL": scene.url_of("installer")}).exit_code == 0
        assert [one.state for one in journal.tracked()] == [None]


def test_a_table_that_changes_after_track_can_be_let_go(scene: Scene) -> None:
    scene.run("installer", TABLE)
    with scene.journal() as journal:
        journal.track(dj.TrackedTable("app.a"))
        scene.run("installer", INDEX)
        scene.admin.execute("SELECT setval('spy.ran', 1, false)")
        journal.untrack("app.a")
        assert journal.tracked() == []
        assert not scene.has_run


@pytest.mark.parametrize("by", ["owner", "statistics"])
def test_maintenance_by_a_superuser_runs_code_as_the_tables_owner(scene: Scene, by: str) -> None:
    """The server switches to the owner, and lets its code change no role and no setting."""
    planted(scene, by)
    if by == "statistics":
        scene.admin.execute("ALTER TABLE app.a OWNER TO {mallory}".format(**scene.names))
    with psycopg.connect(in_psycopg(scene.url), autocommit=True) as session:
        for statement in ("ANALYZE app.a", "VACUUM ANALYZE app.a", "REINDEX TABLE app.a"):
            session.execute(statement)
    assert not scene.has_run


def test_a_policy_of_the_tables_owner_does_not_run(scene: Scene) -> None:
    """A write that the triggers could not see whole is refused, rather than journaled in part."""
    scene.run("mallory", TABLE, "INSERT INTO app.a VALUES (1, 'x')", "GRANT ALL ON app.a TO {installer}")
    with scene.journal() as journal:
        journal.track(dj.TrackedTable("app.a", trust=True))
        scene.run("mallory", "CREATE POLICY evil ON app.a USING (evil.is(1))", "ALTER TABLE app.a ENABLE ROW LEVEL SECURITY")
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security"):
            scene.run("mallory", "INSERT INTO app.a VALUES (2, 'x')")
        for trusted in ([], ['rule "_RETURN" on dms.' + view(scene)]):  # track was told
            assert {each.code for each in journal.verify(trust=trusted).findings} == {"tracking-refused"}
        assert not scene.has_run


def view(scene: Scene) -> str:
    """The view of the table that is tracked now."""
    [(name,)] = scene.admin.execute("SELECT format('tracked_%s', max(TrackedTableId)) FROM dms.TrackedTable")
    return str(name)


def test_bodies_of_a_table_that_another_one_has_replaced_are_not_read(scene: Scene) -> None:
    """A reader reads bodies with its own rights, which are more than Mallory has."""
    scene.run("installer", TABLE, "INSERT INTO app.a VALUES (1, 'x')", "GRANT SELECT ON app.a TO {reader}")
    with scene.journal() as journal:
        journal.track(dj.TrackedTable("app.a"))
    [(document_id,)] = scene.admin.execute("SELECT DocumentId FROM dms.Document")
    read = f"SELECT body FROM dms.tracked_bodies(ARRAY[{document_id}]::bigint[])"
    scene.run("reader", read)
    scene.admin.execute("ALTER SCHEMA app OWNER TO {mallory}".format(**scene.names))
    scene.run("mallory", "DROP TABLE app.a CASCADE", TABLE, "GRANT SELECT ON app.a TO {reader}", INDEX)
    with pytest.raises(psycopg.Error, match=r"bodies of table app.a cannot be read: it was dropped or replaced"):
        scene.run("reader", read)
    assert not scene.has_run


def test_an_operator_that_fits_a_domain_better_does_not_run(scene: Scene) -> None:
    """Mallory may create operators in the schema that holds citext's own."""
    admin, names = scene.admin, scene.names
    admin.execute("CREATE SCHEMA types; GRANT ALL ON SCHEMA types TO {mallory}, {installer}".format(**names))
    try:
        admin.execute("CREATE EXTENSION citext SCHEMA types")
        scene.run("installer", "CREATE DOMAIN types.code AS types.citext")
        scene.run("installer", "CREATE TABLE app.a (id types.code PRIMARY KEY, n text); INSERT INTO app.a VALUES ('x', '1')")
        scene.run("installer", "CREATE TABLE app.b (id int PRIMARY KEY, a types.code REFERENCES app.a (id))")
        for left, right in (("code", "code"), ("code", "citext"), ("citext", "code")):
            scene.run(
                "mallory",
                f"CREATE FUNCTION evil.equal(types.{left}, types.{right}) RETURNS boolean LANGUAGE plpgsql IMMUTABLE"
                " AS 'BEGIN PERFORM evil.spy(); RETURN true; END'",
                f"CREATE OPERATOR types.= (LEFTARG = types.{left}, RIGHTARG = types.{right}, FUNCTION = evil.equal)",
            )
        with scene.journal() as journal:
            journal.track(dj.TrackedTable("app.a", bodies=True), dj.TrackedTable("app.b"))
            for statement in (
                "INSERT INTO app.a VALUES ('y'); INSERT INTO app.b VALUES (1, 'Y')",
                "UPDATE app.a SET id = 'X' WHERE id = 'x'",
            ):
                admin.execute(statement)
            assert journal.verify().is_clean
            assert not scene.has_run
            assert admin.execute("SELECT count(*) FROM dms.ReferenceEdge").fetchone() == (1,)
            admin.execute("DELETE FROM app.b; DELETE FROM app.a")
            assert not scene.has_run
            for table in ("app.b", "app.a"):
                journal.untrack(table)
    finally:
        admin.execute("DROP TABLE app.b, app.a CASCADE; DROP SCHEMA types CASCADE")


def test_a_table_of_another_owner_is_let_go_by_the_installing_role(scene: Scene) -> None:
    """A trigger is dropped by its table's owner alone, or with the function that it calls."""
    scene.run("mallory", TABLE, "INSERT INTO app.a VALUES (1, 'x')", "GRANT SELECT, UPDATE, TRIGGER ON app.a TO {installer}")
    with scene.journal() as journal:
        journal.track(dj.TrackedTable("app.a", trust=True))
        journal.untrack("app.a")
    triggers = scene.admin.execute(
        "SELECT tgname FROM pg_trigger WHERE tgrelid = 'app.a'::regclass AND NOT tgisinternal"
    ).fetchall()
    assert triggers == []
    scene.run("mallory", "UPDATE app.a SET n = 'y'", "DROP TABLE app.a")


@pytest.mark.parametrize(
    ("alter", "told"),
    [
        ("ALTER TABLE app.a SET UNLOGGED", "it is UNLOGGED"),
        ("ALTER TABLE app.a ENABLE ROW LEVEL SECURITY", "row level security hides rows"),
        ("REVOKE UPDATE ON app.a FROM {installer}", "lacks SELECT, UPDATE or TRIGGER"),
    ],
    ids=["unlogged", "row-security", "revoked"],
)
def test_verify_names_what_track_would_refuse_by_now(scene: Scene, alter: str, told: str) -> None:
    scene.admin.execute(f"{TABLE}; GRANT ALL ON app.a TO {scene.names['installer']}")
    with scene.journal() as journal:
        journal.track(dj.TrackedTable("app.a"))
        scene.admin.execute(alter.format(**scene.names))
        [finding] = [each for each in journal.verify().findings if each.code == "tracking-refused"]
        assert told in finding.objects[0]
        assert not journal.repair().left.is_clean
