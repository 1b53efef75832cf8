"""Our names resolve to ours (acceptance 104): nothing runs of a hostile schema that has every operator and function of our SQL.

It takes three places, each of which a role with CREATE on the database, or the database's owner, can have: a schema named like the
role that is attacked, `public`, and one that the database's search_path names before pg_catalog.
"""

import itertools
import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic import command
from typer.testing import CliRunner

import dmsjournal as dj
from dmsjournal import cli
from dmsjournal.database import sql
from dmsjournal.events.arrow.reader import read_journal
from dmsjournal.read.contexts import Context
from dmsjournal.schema import migrate
from tests import planted
from tests.helpers import PLAN, SCHOOL, STUDENT, commit, document, write
from tests.http.conftest import ADMIN as HTTP_ADMIN
from tests.http.conftest import bearer, in_process, settings_of

ROLES = ["installer", "writer", "reader", "pruner", "mallory"]
OPTIONS = ["context", "images", "max_dep_identity_version", "partitions"]
PLACES = ["like the role", "public", "before pg_catalog"]
OF_OURS_ELSEWHERE = """
WITH ours AS (
    SELECT 'pg_namespace'::regclass AS class, oid FROM pg_namespace WHERE nspname = 'dms'
    UNION SELECT 'pg_class'::regclass, oid FROM pg_class WHERE relnamespace = 'dms'::regnamespace
    UNION SELECT 'pg_proc'::regclass, oid FROM pg_proc WHERE pronamespace = 'dms'::regnamespace
    UNION SELECT 'pg_type'::regclass, oid FROM pg_type WHERE typnamespace = 'dms'::regnamespace
    UNION SELECT 'pg_constraint'::regclass, oid FROM pg_constraint WHERE connamespace = 'dms'::regnamespace
    UNION SELECT 'pg_trigger'::regclass, g.oid FROM pg_trigger AS g JOIN pg_class AS c ON c.oid = tgrelid
        WHERE relnamespace = 'dms'::regnamespace
    UNION SELECT 'pg_attrdef'::regclass, d.oid FROM pg_attrdef AS d JOIN pg_class AS c ON c.oid = adrelid
        WHERE relnamespace = 'dms'::regnamespace
    UNION SELECT 'pg_rewrite'::regclass, r.oid FROM pg_rewrite AS r JOIN pg_class AS c ON c.oid = ev_class
        WHERE relnamespace = 'dms'::regnamespace
)
SELECT pg_describe_object(d.classid, d.objid, d.objsubid), pg_describe_object(d.refclassid, d.refobjid, d.refobjsubid)
FROM pg_depend AS d JOIN ours ON ours.class = d.classid AND ours.oid = d.objid
WHERE NOT EXISTS (SELECT FROM ours AS own WHERE own.class = d.refclassid AND own.oid = d.refobjid)
  AND NOT (d.refclassid = 'pg_language'::regclass AND d.refobjid = (SELECT oid FROM pg_language WHERE lanname = 'plpgsql'))
  AND NOT EXISTS (SELECT FROM pg_class AS c  -- the demo's tracked tables, which views of ours read
                  WHERE d.refclassid = 'pg_class'::regclass AND c.oid = d.refobjid AND c.relnamespace = to_regnamespace('shop'))
"""  # PostgreSQL notes no dependency on what initdb made


class Hostile:
    """A database with a hostile schema in it, and what it takes to see whether anything there ran."""

    def __init__(self, server: Any, url: str, place: str) -> None:
        self._server, self._url, self._place = server, sa.make_url(url), place
        self._schema = "hostile"
        fixed = self._url.update_query_dict({"options": "-csearch_path=pg_catalog,pg_temp"})
        self.admin = sa.create_engine(fixed, poolclass=sa.NullPool).connect()
        if place == "public":
            commit(self.admin, "DROP SCHEMA public")
            self._rename("public")
        elif place == "before pg_catalog":
            commit(self.admin, f"""ALTER DATABASE "{self._url.database}" SET search_path = hostile, pg_catalog, "$user", public""")
        commit(self.admin, f'GRANT CREATE ON DATABASE "{self._url.database}" TO installer')

    def _rename(self, schema: str) -> None:
        if schema != self._schema:
            commit(self.admin, f'ALTER SCHEMA "{self._schema}" RENAME TO "{schema}"')
            self._schema = schema

    def url(self, role: str) -> str:
        url = self._url if role == "postgres" else self._url.set(username=role, password="secret")
        return url.render_as_string(hide_password=False)

    @contextmanager
    def attacking(self, role: str) -> Iterator[str]:
        """The URL of the role; what is done in the block ran nothing that was planted, and nothing planted is in our objects."""
        if self._place == "like the role":
            self._rename(role)
        yield self.url(role)
        assert commit(self.admin, "SELECT is_called FROM spy.ran") == [(False,)]
        assert commit(self.admin, OF_OURS_ELSEWHERE) == []

    def psql(self, url: str, script: str, *arguments: str) -> None:
        """Runs a script as a DBA does."""
        own: Path = self._server.embedded.bin_dir / "psql"
        program = str(own) if own.exists() else shutil.which("psql")
        if program is None:
            pytest.skip("no psql here")
        address = sa.make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
        ran = subprocess.run(
            [program, "--no-psqlrc", "--quiet", *arguments, address], input=script, capture_output=True, text=True, check=False
        )
        assert ran.returncode == 0, ran.stderr

    def close(self) -> None:
        self.admin.close()


@pytest.fixture(scope="module")
def server(postgres_server: Any) -> Iterator[Any]:
    """A server with the roles, and the name of a database in which the hostile schema is."""
    with postgres_server.fresh_database() as url:
        with sa.create_engine(url, poolclass=sa.NullPool).connect() as admin:
            for role in ROLES:
                commit(admin, f"CREATE ROLE {role} LOGIN PASSWORD 'secret'")
            commit(admin, f'GRANT CREATE ON DATABASE "{sa.make_url(url).database}" TO mallory')
            assert planted.plant(admin, "hostile", "mallory") > 5_000
        yield postgres_server, str(sa.make_url(url).database)
        with sa.create_engine(url, poolclass=sa.NullPool).connect() as admin:
            for role in ROLES:
                commit(admin, f"DROP OWNED BY {role}")
    with sa.create_engine(postgres_server.embedded.url(), poolclass=sa.NullPool).connect() as admin:
        for role in ROLES:
            commit(admin, f"DROP OWNED BY {role}")
            commit(admin, f"DROP ROLE {role}")


@contextmanager
def database(server: Any, place: str) -> Iterator[Hostile]:
    postgres, template = server
    with postgres._database(template) as url:
        hostile = Hostile(postgres, url, place)
        try:
            yield hostile
        finally:
            hostile.close()


@pytest.fixture(scope="module", params=PLACES)
def place(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
def hostile(server: Any, place: str) -> Iterator[Hostile]:
    """A database without a journal."""
    with database(server, place) as hostile:
        yield hostile


@pytest.fixture(scope="module")
def installed(server: Any, place: str) -> Iterator[Hostile]:
    """A database with a journal that has all options, rights for the roles, and a history."""
    with database(server, place) as hostile:
        with hostile.attacking("installer") as url:
            migrate.upgrade(url, options=OPTIONS)
            hostile.psql(url, sql.text_of("postgres", "roles/grants"), *(f"--set={each}={each}" for each in ROLES[1:4]))
        with hostile.attacking("writer") as url:
            write_everything(url)
        yield hostile


def write_everything(url: str) -> None:
    """As many kinds of writes as the API has."""
    with dj.connect(url) as journal:
        student = document(STUDENT, 1, body={"name": "Ada"})
        write(journal, student, document(PLAN, 1, student), document(SCHOOL, 1), document(SCHOOL, 2))
        with journal.write(Context(user="ada")) as tx:
            tx.rekey(STUDENT, {"studentId": 1}, {"studentId": 2})
            tx.delete(SCHOOL, {"schoolId": 1})
        write(journal, document(SCHOOL, 2, body={"name": "Grand Bend"}), document(SCHOOL, 3))


def test_what_is_planted_does_run_where_the_path_is_the_sessions(server: Any, place: str) -> None:
    """The trap works: the same statements on the ambient path fall into it."""
    with database(server, place) as hostile:
        if place == "like the role":
            hostile._rename("reader")
        with sa.create_engine(hostile.url("reader"), use_native_hstore=False).connect() as session:
            for statement in (
                "SELECT 1 FROM pg_class WHERE relname::varchar !~ 'x'::varchar",
                "SELECT jsonb_hash_extended('{}'::jsonb, 0)",
                "SELECT obj_description(to_regclass('pg_class'), 'pg_class')",
            ):
                with pytest.raises(sa.exc.DBAPIError, match="PLANTED"), session.begin():
                    session.exec_driver_sql(statement)


@pytest.mark.acceptance("104")
@pytest.mark.parametrize(
    ("role", "way"),
    [
        pytest.param(role, way, marks=() if (number + other) % 2 else pytest.mark.long)
        for number, role in enumerate(["installer", "postgres"])
        for other, way in enumerate(["command", "script", "given connection", "given transaction"])
    ],
)  # each way by one role, each role by one way of the program and one of Alembic; the others in the long runs
def test_nothing_planted_runs_in_an_installation_and_a_removal(hostile: Hostile, role: str, way: str) -> None:
    with hostile.attacking(role) as url:
        if way == "command":
            invoke(url, "upgrade", *itertools.chain.from_iterable(("--with", option) for option in OPTIONS))
            invoke(url, "fill", "max_dep_identity_version")
            invoke(url, "verify")
            invoke(url, "downgrade", "base")
        elif way == "script":
            hostile.psql(url, migrate.script())
            for option in OPTIONS:
                hostile.psql(url, migrate.script(option=option))
            invoke(url, "verify")
            for option in OPTIONS:
                hostile.psql(url, migrate.script(option=option, down=True))
            hostile.psql(url, migrate.script(revision="head:base", down=True))
        else:
            install_on_a_given_connection(url, begun=way == "given transaction")


def install_on_a_given_connection(url: str, *, begun: bool) -> None:
    """What an application does that has a connection of its own, whose path stays as it is."""
    config = migrate._config("postgres", "5s")
    engine = sa.create_engine(url, poolclass=sa.NullPool, use_native_hstore=False)
    with engine.connect() as given:
        ambient = given.exec_driver_sql("SHOW search_path").scalar()
        if not begun:
            given.rollback()
        config.attributes["connection"] = given
        command.upgrade(config, "head")
        assert given.in_transaction() == begun
        assert given.exec_driver_sql("SHOW search_path").scalar() == ambient
        command.downgrade(config, "base")
        given.commit()


@pytest.mark.acceptance("104")
@pytest.mark.parametrize("role", ["installer", "postgres"])
def test_nothing_planted_runs_in_an_adoption(hostile: Hostile, role: str) -> None:
    for statement in (
        f'SET LOCAL ROLE {role}; CREATE SCHEMA dms; GRANT TEMPORARY ON DATABASE "{hostile._url.database}" TO installer',
        f"""SET LOCAL ROLE {role};
            CREATE TABLE dms.Document (DocumentId bigserial PRIMARY KEY, DocumentUuid uuid NOT NULL,
                ProjectName varchar(256) NOT NULL, ResourceName varchar(256) NOT NULL, ResourceVersion varchar(64) NOT NULL,
                Note varchar(64));
            CREATE TABLE dms.ReferenceEdge (
                ParentDocumentId bigint NOT NULL REFERENCES dms.Document (DocumentId) ON DELETE CASCADE,
                ChildDocumentId bigint NOT NULL REFERENCES dms.Document (DocumentId),
                PRIMARY KEY (ParentDocumentId, ChildDocumentId));
            INSERT INTO dms.Document (DocumentUuid, ProjectName, ResourceName, ResourceVersion)
            SELECT gen_random_uuid(), 'Ed-Fi', 'Student', '5.2.0' FROM generate_series(1, 20);
            INSERT INTO dms.ReferenceEdge SELECT n, n - 1 FROM generate_series(2, 20) AS n""",
    ):
        commit(hostile.admin, statement)
    with hostile.attacking(role) as url:
        invoke(url, "adopt", "--dry-run")
        invoke(url, "adopt", "--batch-size", "7", "--content-column", "Note")
        commit(hostile.admin, "UPDATE dms.Document SET Note = 'x' WHERE DocumentId = 3")
        invoke(url, "verify")


READING: list[tuple[str, ...]] = [
    ("versions",),
    ("current",),
    ("changes", "Student"),
    ("snapshot", "School"),
    ("deletes", "School"),
    ("key-changes", "Student"),
    ("derive", "1", "2"),
    ("plan", "--parts", "2"),
    ("plan", "--full"),
    ("feed", "--bodies"),
    ("feed", "--format", "cdc", "--operation", "UPDATE", "--trigger", "*"),
    ("feed", "--at", "2020-01-01T00:00:00Z", "--partition", "1-0"),
    ("feed-partitions",),
    ("status", "--check-triggers"),
    ("verify",),
    ("verify", "--sample", "0.5"),
    ("consumers", "list"),
    ("partitions", "list"),
]
PRUNING: list[tuple[str, ...]] = [
    ("consumers", "register", "warehouse", "--at", "1"),
    ("consumers", "advance", "warehouse", "3"),
    ("consumers", "list"),
    ("prune", "--through", "2", "--dry-run"),
    ("prune", "--through", "2"),
    ("prune", "--keep-at-least", "3", "--older-than", "0s"),
    ("consumers", "drop", "warehouse"),
    ("status",),
]
INSTALLING: list[tuple[str, ...]] = [
    ("upgrade",),
    ("feed-partitions", "--set", "4"),
    ("fill", "max_dep_identity_version"),
    ("partitions", "ensure", "--versions", "4"),
    ("partitions", "split", "--versions", "2"),
    ("verify", "--repair"),
    ("verify",),
    ("prune", "--through", "1", "--force"),
]


def invoke(url: str, *arguments: str) -> str:
    result = CliRunner().invoke(cli.app, arguments, env={"DMSJOURNAL_URL": url})
    assert result.exit_code == 0, (arguments, result.output, result.exception)
    return result.output


@pytest.mark.acceptance("104")
@pytest.mark.parametrize("arguments", READING, ids=" ".join)
def test_nothing_planted_runs_in_a_readers_command(installed: Hostile, arguments: tuple[str, ...]) -> None:
    with installed.attacking("reader") as url:
        invoke(url, *arguments)


@pytest.mark.acceptance("104")
def test_nothing_planted_runs_as_a_writer(installed: Hostile, tmp_path: Path) -> None:
    file = tmp_path / "documents.jsonl"
    names = {"projectName": "Ed-Fi", "resourceName": "School", "resourceVersion": "5.2.0", "references": []}
    file.write_text(json.dumps({**names, "identity": {"schoolId": 9}, "body": {"name": "Loaded"}}) + "\n")
    with installed.attacking("writer") as url:
        invoke(url, "load", str(file))
        with dj.connect(url) as journal, journal.write() as tx:
            tx.upsert(document(SCHOOL, 9, body={"name": "Again"}))
            tx.delete(SCHOOL, {"schoolId": 9})


@pytest.mark.acceptance("104")
def test_nothing_planted_runs_in_a_programs_own_engine(installed: Hostile) -> None:
    """A Journal on the engine of another program: our transactions have our path, and theirs keep their own."""
    with installed.attacking("reader") as url:
        for options in ({}, {"isolation_level": "AUTOCOMMIT"}, {"isolation_level": "SERIALIZABLE"}):
            theirs = sa.create_engine(url, **options)  # with the look for hstore that SQLAlchemy takes first
            with dj.Journal(theirs) as journal:
                assert list(journal.changes(STUDENT))
                assert journal.verify(sample=0.5)
                journal.status()
                with theirs.connect() as session:
                    path = session.exec_driver_sql("SHOW search_path").scalar()
                    assert "hostile" in path if installed._place == "before pg_catalog" else path == '"$user", public'
                    raw: Any = session.connection.dbapi_connection
                    assert raw.autocommit == (options.get("isolation_level") == "AUTOCOMMIT")
            theirs.dispose()


@pytest.mark.acceptance("104")
def test_nothing_planted_runs_in_a_read_as_arrow(installed: Hostile) -> None:
    with installed.attacking("reader") as url:
        assert sum(batch.num_rows for batch in read_journal(url)) > 5
        with_options = sa.make_url(url).update_query_dict({"options": "-c search_path=public -c statement_timeout=60s"})
        assert sum(batch.num_rows for batch in read_journal(with_options)) > 5


OF_FEEDS = ["/changefeed", "/changefeed/stats", "/feed", "/feed/partitions"]
OF_STUDENTS = [f"/data/v3/ed-fi/students{rest}" for rest in ("", "/deletes", "/keyChanges")]


@pytest.mark.acceptance("104")
def test_nothing_planted_runs_in_the_service(installed: Hostile) -> None:
    with installed.attacking("reader") as url, in_process(settings_of(url, admin_url=None)) as client:
        for path in ("/readyz", "/status", "/metrics", *OF_FEEDS, *OF_STUDENTS):
            answer = client.get(path, headers=bearer(HTTP_ADMIN))
            assert answer.status_code == 200, (path, answer.text)


@pytest.mark.acceptance("104")
def test_nothing_planted_runs_in_the_service_of_a_pruner(installed: Hostile) -> None:
    """With an admin URL it prunes too, by a route of the changefeed."""
    with installed.attacking("pruner") as pruner:
        url = installed.url("reader")
        with in_process(settings_of(url, admin_url=pruner)) as client:
            answer = client.post("/changefeed/retention", json={"before_sequence": 2}, headers=bearer(HTTP_ADMIN))
            assert answer.status_code == 200, answer.text


@pytest.mark.acceptance("104")
def test_nothing_planted_runs_in_a_delivery(installed: Hostile, tmp_path: Path) -> None:
    with installed.attacking("installer") as url:
        installed.psql(url, sql.text_of("postgres", "roles/consumer"), "--set=consumer=reader")
    with installed.attacking("reader") as url:
        invoke(url, "deliver", "--consumer", "files", "--files", str(tmp_path / "files"), "--once")
        with dj.connect(url) as journal:
            kept = dj.DatabaseCheckpoint(journal, "iterator")
            assert len(list(dj.FeedIterator(journal, checkpoint=kept, follow=False))) > 5
            journal.consumers.drop("iterator")
            journal.consumers.drop("files")


@pytest.mark.long
@pytest.mark.acceptance("104")
def test_nothing_planted_runs_in_a_demo(hostile: Hostile) -> None:
    with hostile.attacking("installer") as url:
        invoke(url, "demo", "--no-spark", "--keep", "--url", url)


@pytest.mark.acceptance("104")
def test_nothing_planted_runs_in_a_prune(installed: Hostile) -> None:
    with installed.attacking("pruner") as url:
        for arguments in PRUNING:
            invoke(url, *arguments)


@pytest.mark.acceptance("104")
@pytest.mark.parametrize("role", ["installer", "postgres"])
def test_nothing_planted_runs_in_an_installers_commands(installed: Hostile, role: str) -> None:
    with installed.attacking(role) as url:
        for arguments in INSTALLING:
            if (role, arguments) == ("postgres", ("upgrade",)):  # it takes nothing over unasked
                refused = CliRunner().invoke(cli.app, arguments, env={"DMSJOURNAL_URL": url})
                assert (refused.exit_code, "not all of the installing role" in refused.output) == (5, True)
            else:
                invoke(url, *arguments)


@pytest.mark.acceptance("104")
def test_a_connection_that_commits_each_statement_is_refused_for_a_migration(hostile: Hostile) -> None:
    config = migrate._config("postgres", "5s")
    with sa.create_engine(hostile.url("postgres"), isolation_level="AUTOCOMMIT", use_native_hstore=False).connect() as given:
        config.attributes["connection"] = given
        with pytest.raises(dj.MigrationRefused, match="AUTOCOMMIT"):
            command.upgrade(config, "head")


# What has no path of its own: it names everything with its schema.

WITHOUT_A_PATH = ["enter_change", "is_own_row", "keep_parent_resource", "stamp_insert", "stamp_update"]  # paid on each row


def test_functions_without_a_path_qualify_every_name() -> None:
    functions = {file.name.split(".")[0]: file.read_text() for file in (planted.SQL / "functions").glob("*.v1.sql")}
    fixed = re.compile(r"(?m)^[^-\n]*SET search_path = pg_catalog, pg_temp")
    without = {name for name, text in functions.items() if not fixed.search(text)}
    assert without == set(WITHOUT_A_PATH)
    for name in WITHOUT_A_PATH:
        unqualified = planted.names_in(functions[name]).unqualified
        assert set(unqualified) <= {"trigger", "xid"}, name  # types, which the fixed path of the installation has found


@pytest.mark.parametrize(
    "name",
    [
        "queries/database/begin",
        "queries/database/session_pid",
        "queries/database/current_schema",
        "queries/database/settings",
        "queries/schema/drop_index_max_dep",
        "queries/schema/index_max_dep",
    ],
)
def test_what_runs_outside_a_transaction_of_ours_names_nothing_by_the_path(name: str) -> None:
    assert planted.names_in(sql.text_of("postgres", name)).unqualified == []
