"""No short answer (invariant 11): what keeps a role from the whole truth is a refusal that names it.

Each right of each role is taken away alone (acceptance 95), and each table gets row level security (acceptance 83).

The rights come from the catalog: of what sql/postgres/roles/ grants, and of what the installing role owns, with every option.
Without one of them no command gives another answer than with it, `verify` raises no false alarm, a write is journaled or refused.
"""

import itertools
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa
from psycopg import sql

import dmsjournal as dj
from dmsjournal.database import sql as statements
from dmsjournal.schema import migrate
from dmsjournal.testing.embedded import EmbeddedPostgres
from tests.conftest import SETTINGS, PostgresServer
from tests.helpers import PLAN, SCHOOL, STUDENT, document, in_psycopg, unjournaled, write
from tests.older import other_binaries

OPTIONS = ["context", "images", "max_dep_identity_version", "partitions"]
ROLES = ["reader", "writer", "pruner", "owner"]
SERVERS = ["newest", pytest.param("oldest", marks=pytest.mark.long)]  # a minute each: the oldest one in `make test-long`

RIGHTS = """
WITH owned AS (
    SELECT 'TABLE ' || c.oid::regclass AS on_what, coalesce(c.relacl, acldefault('r', c.relowner)) AS acl, NULL AS columns
    FROM pg_class AS c WHERE c.relnamespace = 'dms'::regnamespace AND c.relkind IN ('r', 'p', 'v') AND NOT c.relispartition
    UNION ALL
    SELECT 'SEQUENCE ' || c.oid::regclass, coalesce(c.relacl, acldefault('s', c.relowner)), NULL
    FROM pg_class AS c WHERE c.relnamespace = 'dms'::regnamespace AND c.relkind = 'S'
    UNION ALL
    SELECT 'TABLE ' || c.oid::regclass, a.attacl, concat(' (', quote_ident(a.attname), ')')
    FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid
    WHERE c.relnamespace = 'dms'::regnamespace AND a.attacl IS NOT NULL
    UNION ALL
    SELECT 'FUNCTION ' || p.oid::regprocedure, coalesce(p.proacl, acldefault('f', p.proowner)), NULL
    FROM pg_proc AS p WHERE p.pronamespace = 'dms'::regnamespace AND p.prorettype <> 'trigger'::regtype  -- nobody calls those
    UNION ALL
    SELECT 'SCHEMA dms', n.nspacl, NULL FROM pg_namespace AS n WHERE n.nspname = 'dms'
)
SELECT concat(acl.privilege_type, columns, ' ON ', on_what),
       CASE WHEN acl.grantee = 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(acl.grantee)) END
FROM owned CROSS JOIN LATERAL aclexplode(owned.acl) AS acl
WHERE (acl.grantee = to_regrole(%(role)s) OR (acl.grantee = 0 AND %(with_public)s))
  AND acl.privilege_type IN ('SELECT', 'INSERT', 'UPDATE', 'DELETE', 'USAGE', 'EXECUTE')
ORDER BY 1, 2
"""

KEPT = dj.Window(2)  # what a prune through 1 leaves

NUMBERS = itertools.count(1)

Command = Callable[[dj.Journal], Any]


@dataclass
class Installed:
    """A database that a role without any other right has installed, and the URLs of the roles of docs/dba/roles.md."""

    urls: Mapping[str, str]
    admin: psycopg.Connection[Any]
    plain: sa.Connection

    def rights(self, role: str) -> list[tuple[str, str]]:
        """(right, grantee) of all that the role has by itself; a reader also what it has as PUBLIC."""
        name = sa.make_url(self.urls[role]).username
        return self.admin.execute(RIGHTS, {"role": name, "with_public": role == "reader"}).fetchall()

    @contextmanager
    def without(self, right: str, grantee: str) -> Iterator[None]:
        self.admin.execute(f"REVOKE {right} FROM {grantee}")
        try:
            yield
        finally:
            self.admin.execute(f"GRANT {right} TO {grantee}")
            self.end_leases()

    def end_leases(self) -> None:
        """Those that a role without the right could not give back: the next program would wait 30 s for each."""
        self.admin.execute("DELETE FROM dms.Lease")

    def answers(
        self, commands: Mapping[str, Mapping[str, Command]], connected: Mapping[str, dj.Journal] = {}
    ) -> dict[tuple[str, str], Any]:
        """What each command gives as its role, with connections of its own where none is given: its answer, or the refusal."""
        given: dict[tuple[str, str], Any] = {}
        for role, of_role in commands.items():
            self.end_leases()
            with nullcontext(connected[role]) if role in connected else dj.connect(self.urls[role]) as journal:
                for name, command in of_role.items():
                    try:
                        given[role, name] = command(journal)
                    except dj.DatabaseRefused as refused:
                        given[role, name] = refused
        return given


def events_of(journal: dj.Journal) -> list[Any]:
    events = journal.read_changes(dj.FeedRequest(start=dj.AfterVersion(1), contexts=False)).events
    return [(event.change_version, event.key.document_id) for event in events]


def written(journal: dj.Journal) -> list[Any]:
    """A document comes, changes its key, and goes."""
    with journal.write(dj.Context(user="ada")) as tx:
        student = document(STUDENT, 90, body={"name": "Ada"})
        outcomes = [outcome.outcome for outcome in tx.upsert_many([student, document(PLAN, 90, student)])]
        renamed = tx.rekey(STUDENT, {"studentId": 90}, {"studentId": 91})
        return [outcomes, renamed, tx.delete(PLAN, {"graduationPlanId": 90}), tx.delete(STUDENT, {"studentId": 91})]


def registered(journal: dj.Journal) -> int:
    """A consumer comes, moves, and goes; one that a missing right left behind is another one's business."""
    name = f"etl {next(NUMBERS)}"
    journal.consumers.register(name, 2)
    moved = journal.consumers.advance(name, 3).through
    journal.consumers.drop(name)
    return moved


def status_of(journal: dj.Journal) -> Any:
    """What of the status does not change by itself. What the role may not see is listed as hidden, and is no number then."""
    status = journal.status()
    assert (status.last_stamp is None) == ("last_stamp" in {each.part for each in status.hidden})
    return (status.newest, status.oldest, status.triggers, [each.floor for each in status.journals])


READING: dict[str, Command] = {
    "versions": dj.Journal.versions,
    "resources": dj.Journal.resources,
    "changes": lambda journal: [list(journal.changes(of, KEPT)) for of in (STUDENT, PLAN, SCHOOL)],
    "deletes": lambda journal: list(journal.deletes(SCHOOL, KEPT)),
    "deletes by key": lambda journal: list(journal.deletes(SCHOOL, KEPT, reused_keys=False)),
    "dependencies": dj.Journal.dependencies,
    "key-changes": lambda journal: list(journal.key_changes(STUDENT, KEPT)),
    "count": lambda journal: journal.count(PLAN, KEPT),
    "snapshot": lambda journal: list(journal.snapshot(PLAN)),
    "plan": lambda journal: journal.plan(PLAN, KEPT, parts=2),
    "derive": lambda journal: journal.derive([1, 2, 4]),
    "documents": lambda journal: journal.documents([1, 2, 4]),
    "documents as others are": lambda journal: journal.documents([1, 2, 4], current_references=True),
    "feed": lambda journal: (
        journal.read_changes(dj.FeedRequest(start=dj.AfterVersion(1), item_state=dj.NewItemStateMode.INCLUDE_IF_AVAILABLE)).events
    ),
    "effects": lambda journal: journal.effects(
        journal.read_changes(dj.FeedRequest(start=dj.AfterVersion(1), contexts=False)).events
    ),
    "images": lambda journal: [journal.images_since(), journal.image_exclusions(), journal.images(events_of(journal))],
    "contexts": lambda journal: journal.contexts(events_of(journal)),
    "feed-partitions": dj.Journal.list_physical_partitions,
    "fingerprint": lambda journal: journal.fingerprint(3),
    "consumers": lambda journal: list(journal.consumers.list()),
    "partitions": lambda journal: [(part.partition, part.low, part.high) for part in journal.partitions.list()],
    "status": status_of,
    "held-back": dj.Journal.held_back,
    "verify": lambda journal: journal.verify().findings,
}
COMMANDS: dict[str, dict[str, Command]] = {
    "reader": READING,
    "writer": {"write": written, "derive": READING["derive"], "snapshot": READING["snapshot"]},
    "pruner": {
        "versions": dj.Journal.versions,
        "consumers": registered,
        "estimate": lambda journal: journal.prune(older_than=timedelta(), keep_at_least=1, dry_run=True).through is not None,
        "prune": lambda journal: journal.prune(1).through,
    },
    "owner": {"ensure": lambda journal: journal.partitions.ensure(versions=1000, ahead=1), "verify": READING["verify"]},
}
BY_THE_OWNERS_RIGHTS: dict[str, dict[str, Command]] = {  # what triggers and functions do with them, and what the role runs itself
    "writer": {"write": written},
    "pruner": {name: COMMANDS["pruner"][name] for name in ("consumers", "estimate", "prune")},
    "owner": COMMANDS["owner"],
}
READ_AFTER_A_WRITE = {"reader": {name: READING[name] for name in ("versions", "changes", "status")}}


@pytest.fixture(scope="module", params=SERVERS)
def server(request: pytest.FixtureRequest, postgres_server: PostgresServer) -> Iterator[PostgresServer]:
    """The server of the other tests, and the oldest one that there is here."""
    if request.param == "newest":
        yield postgres_server
    else:
        with EmbeddedPostgres(settings=SETTINGS, bin_dir=other_binaries(postgres_server.embedded.version)) as embedded:
            yield PostgresServer(embedded)


@pytest.fixture(scope="module")
def installed(server: PostgresServer) -> Iterator[Installed]:
    with server.fresh_database() as url, psycopg.connect(in_psycopg(url), autocommit=True) as admin:
        names = {role: f"{role}_{admin.info.dbname}" for role in ROLES}
        for name in names.values():
            admin.execute(f"CREATE ROLE {name} LOGIN PASSWORD 'secret'")
        admin.execute(f"GRANT CREATE, TEMPORARY ON DATABASE {admin.info.dbname} TO {names['owner']}")
        urls = {
            role: sa.make_url(url).set(username=name, password="secret").render_as_string(hide_password=False)
            for role, name in names.items()
        }
        migrate.upgrade(urls["owner"], options=OPTIONS)
        grants = statements.text_of("postgres", "roles/grants").replace("\\set ON_ERROR_STOP on\n", "")
        with psycopg.connect(in_psycopg(urls["owner"]), autocommit=True) as owner:
            for role in ("writer", "reader", "pruner"):
                grants = grants.replace(f':"{role}"', sql.Identifier(names[role]).as_string())
            owner.execute(grants.encode())
        with dj.connect(urls["owner"]) as journal:
            journal.partitions.ensure(versions=1000, ahead=1)
            student = document(STUDENT, 1, body={"name": "Ada"})
            write(journal, student, document(PLAN, 1, student), document(SCHOOL, 1), document(SCHOOL, 2))
            with journal.write(dj.Context(user="ada")) as tx:
                tx.rekey(STUDENT, {"studentId": 1}, {"studentId": 2})
                tx.delete(SCHOOL, {"schoolId": 1})
            journal.prune(1)
        engine = server.engine(url)
        with engine.connect() as plain:
            yield Installed(urls, admin, plain)
        for name in names.values():
            admin.execute(f"DROP OWNED BY {name} CASCADE")
            admin.execute(f"DROP ROLE {name}")


def refused_by_right(answer: object) -> bool:
    """By the server, or by hold_lease, which asks for the right to delete before a prune begins."""
    is_refusal = isinstance(answer, dj.DatabaseRefused) and answer.refused == "right"
    return is_refusal and ("permission denied" in answer.message or "may not prune" in answer.message)


@pytest.mark.acceptance("95")
@pytest.mark.parametrize("role", ROLES)
def test_a_missing_right_is_a_refusal_and_never_another_answer(installed: Installed, role: str) -> None:
    """The owner's rights are many: the other roles, whose own ones stay, keep their connections while each of them is missing."""
    with ExitStack() as stack:
        others = ROLES[:-1] if role == "owner" else []
        assert_refused(installed, role, {other: stack.enter_context(dj.connect(installed.urls[other])) for other in others})


@pytest.mark.long
@pytest.mark.acceptance("95")
def test_a_missing_right_of_the_owner_is_a_refusal_to_new_connections(installed: Installed) -> None:
    assert_refused(installed, "owner", {})


def assert_refused(installed: Installed, role: str, connected: Mapping[str, dj.Journal]) -> None:
    commands, reading = (BY_THE_OWNERS_RIGHTS, READ_AFTER_A_WRITE) if role == "owner" else ({role: COMMANDS[role]}, {})
    full = installed.answers(commands, connected)
    assert not [answer for answer in full.values() if isinstance(answer, dj.DatabaseRefused)]
    rights = installed.rights(role)
    assert len(rights) > 8, rights
    wrong, refusals = [], 0
    for right, grantee in rights:
        with installed.without(right, grantee):
            given = installed.answers(commands, connected) | installed.answers(reading, connected)
            assert not unjournaled(installed.plain), right
        full |= installed.answers(reading, connected)
        wrong += [
            (right, key, given[key], full[key]) for key in full if given[key] != full[key] and not refused_by_right(given[key])
        ]
        refusals += sum(map(refused_by_right, given.values()))
    assert not wrong
    assert refusals > 0


@pytest.mark.acceptance("95")
def test_the_installing_role_without_the_sequence_stops_every_reader(installed: Installed) -> None:
    """PostgreSQL 18 gives null for the value of a sequence that the role may not see, which is not "no stamp was given"."""
    [owner] = {grantee for _, grantee in installed.rights("owner")}
    right = "SELECT, USAGE ON SEQUENCE dms.changeversionsequence"
    with installed.without(right, owner), dj.connect(installed.urls["reader"]) as reader:
        for command in (READING["versions"], READING["changes"], READING["feed"]):
            with pytest.raises(dj.DatabaseRefused, match=r"changeversionsequence.*installing role"):
                command(reader)


TABLES = """
SELECT c.relname FROM pg_class AS c
WHERE c.relnamespace = 'dms'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition ORDER BY c.relname
"""


@contextmanager
def row_security(admin: psycopg.Connection[Any], table: str, forced: str = "") -> Iterator[None]:
    """Within it a table shows no row to a role that it applies to: it has no policy."""
    admin.execute(f"ALTER TABLE dms.{table} ENABLE ROW LEVEL SECURITY {forced}".encode())
    try:
        yield
    finally:
        admin.execute(f"ALTER TABLE dms.{table} NO FORCE ROW LEVEL SECURITY, DISABLE ROW LEVEL SECURITY".encode())


@pytest.mark.acceptance("83")
def test_row_level_security_is_a_refusal_and_never_a_part_of_the_answer(installed: Installed) -> None:
    commands = {
        "reader": {name: command for name, command in READING.items() if name != "verify"},
        "pruner": COMMANDS["pruner"],
        "writer": {name: command for name, command in COMMANDS["writer"].items() if name != "write"},
    }
    full = installed.answers(commands)
    tables = [name for (name,) in installed.admin.execute(TABLES)]
    assert len(tables) > 15
    wrong, refusals = [], 0
    for table in tables:
        with row_security(installed.admin, table):
            given = installed.answers(commands)
            if table != "alembic_version":  # which is not read then
                with dj.connect(installed.urls["reader"]) as reader, dj.connect(installed.urls["owner"]) as owner:
                    hidden = f"{table} (ROW LEVEL SECURITY)"
                    assert next(each.objects for each in reader.verify().findings if each.code == "rows-hidden") == (hidden,)
                    assert [(each.code, each.objects) for each in owner.verify().findings] == [
                        ("table-altered", (f"{table} (hides rows from other roles (ROW LEVEL SECURITY))",))
                    ]
        refused = [key for key, answer in given.items() if isinstance(answer, dj.DatabaseRefused)]
        refusals += len(refused)
        wrong += [(table, key, given[key], full[key]) for key in full if key not in refused and given[key] != full[key]]
        if table != "alembic_version":
            assert all("row-level security" in str(given[key]) for key in refused), table
    assert not wrong
    assert refusals > len(tables)


@pytest.mark.acceptance("83")
@pytest.mark.parametrize("table", ["Document", "DocumentChangeEvent"])
def test_a_write_whose_triggers_would_miss_rows_is_refused(installed: Installed, table: str) -> None:
    """Forced on the owner, row level security hides rows from its triggers: an edge that goes would leave its parent unstamped."""
    name = sa.make_url(installed.urls["writer"]).username
    with row_security(installed.admin, table, ", FORCE ROW LEVEL SECURITY"):
        installed.admin.execute(f"CREATE POLICY mine ON dms.{table} TO {name} USING (true) WITH CHECK (true)".encode())
        try:
            with psycopg.connect(in_psycopg(installed.urls["writer"])) as writer:
                with pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security"):
                    writer.execute("DELETE FROM dms.ReferenceEdge")
                writer.rollback()
        finally:
            installed.admin.execute(f"DROP POLICY mine ON dms.{table}".encode())


@pytest.mark.acceptance("83")
def test_each_function_that_fixes_its_search_path_turns_row_security_off(installed: Installed) -> None:
    fixed = "SELECT proname, proconfig FROM pg_proc WHERE pronamespace = 'dms'::regnamespace AND proconfig IS NOT NULL"
    found = installed.admin.execute(fixed).fetchall()
    assert len(found) > 30
    assert not [name for name, settings in found if "row_security=off" not in settings]


@pytest.mark.acceptance("94")
def test_a_transaction_of_a_users_engine_keeps_its_own_row_security(installed: Installed) -> None:
    """Ours ends with our transaction, so that a pooled session is as it was."""
    engine = sa.create_engine(installed.urls["reader"], pool_size=1, max_overflow=0)
    with dj.Journal(engine) as journal:
        journal.versions()
        with engine.connect() as conn:
            assert conn.exec_driver_sql("SHOW row_security").scalar() == "on"


def test_a_target_of_logical_replication_refuses_its_readers(installed: Installed) -> None:
    """A subscription's rows are not stamped, and the sequence stays where it was: newest would be too low."""
    name = "mine_" + installed.admin.info.dbname
    installed.admin.execute(
        f"CREATE SUBSCRIPTION {name} CONNECTION 'host=127.0.0.1' PUBLICATION mine WITH (connect = false, slot_name = NONE)".encode()
    )
    try:
        installed.admin.execute(
            "INSERT INTO pg_subscription_rel (srsubid, srrelid, srsubstate) "
            "SELECT oid, 'dms.documentcache'::regclass, 'r' FROM pg_subscription WHERE subname = %s",
            (name,),
        )
        with dj.connect(installed.urls["reader"]) as reader, pytest.raises(dj.UnsupportedCapability, match="a subscription fills"):
            reader.versions()
    finally:
        installed.admin.execute(f"DROP SUBSCRIPTION {name}".encode())
    with dj.connect(installed.urls["reader"]) as reader:
        assert reader.versions().newest > 0
