"""Option partitions on PostgreSQL: what a statement scans, how a part is split, and what the schema is made of afterwards."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa

import dmsjournal as dj
from dmsjournal.database import sql
from dmsjournal.operate import partitions
from dmsjournal.operate.prune import JOURNALS
from dmsjournal.schema import fill, migrate
from tests.concurrency.pruned import History, populate
from tests.helpers import SCHOOL, commit, document, in_psycopg, newest, write

PARTS, SIZE = 10, 1_000  # of which the first two hold the documents' creation, the others a history of updates
DOCUMENTS = 1_000
FILL = [
    "INSERT INTO dms.ResourceKey VALUES (1, 'Ed-Fi', 'Descriptor', '5.2.0'), (2, 'Ed-Fi', 'GraduationPlan', '5.2.0')",
    f"""INSERT INTO dms.Document (DocumentId, ResourceKeyId, KeyValues)
        SELECT n, 1, to_jsonb(n) FROM generate_series(1, {DOCUMENTS}) AS n""",
    f"INSERT INTO dms.Document (DocumentId, ResourceKeyId) SELECT 10000 + n, 2 FROM generate_series(1, {DOCUMENTS}) AS n",
    "SET session_replication_role = replica",  # the edges' own stamps would move everything to the end
    f"""INSERT INTO dms.ReferenceEdge (ParentDocumentId, ChildDocumentId, ParentResourceKeyId)
        SELECT 10000 + n, n, 2 FROM generate_series(1, {DOCUMENTS}) AS n""",
    "INSERT INTO dms.ResourceDependency VALUES (2, 1)",
    "RESET session_replication_role",
    *(
        f"""UPDATE dms.Document SET KeyValues = to_jsonb({n} * 1000000 + DocumentId)
            WHERE ResourceKeyId = 1 AND DocumentId % 4 = {n}"""
        for n in range(4)
    ),
    "UPDATE dms.Document SET ContentVersion = 0 WHERE ResourceKeyId = 2",
    "DELETE FROM dms.ReferenceEdge WHERE ParentDocumentId % 2 = 0",
    "DELETE FROM dms.Document WHERE ResourceKeyId = 2 AND DocumentId % 2 = 0",
    "UPDATE dms.Document SET ContentVersion = 0",
]  # fmt: skip


@dataclass
class Parted:
    session: psycopg.Connection[Any]
    url: str
    newest: int


@pytest.fixture(scope="module", params=[[], ["max_dep_identity_version"]], ids=["partitions", "and max_dep_identity_version"])
def parted(postgres_server, request: pytest.FixtureRequest) -> Iterator[Parted]:
    with (
        postgres_server.copy_of_template() as url,
        psycopg.connect(in_psycopg(url), autocommit=True, prepare_threshold=None) as session,
    ):
        migrate.upgrade(url, options=["partitions", *request.param])
        with dj.connect(url) as journal:
            journal.partitions.ensure(versions=SIZE, ahead=PARTS)
            for statement in FILL:
                session.execute(statement)
            for option in request.param:
                fill.fill(url, option)
            session.execute("VACUUM ANALYZE")
            yield Parted(session, url, newest(journal))


PAGE = {"resource_key_id": 2, "after_id": 0, "page_size": 50}
AGAIN = {"again_from": 1, "again_through": 0, "rewound_through": None, "rewound_at": None}
RANGES = '[{{"range": 0, "first": {first}, "last": {last}}}]'
READS: dict[str, tuple[str, dict[str, Any]]] = {  # by statement: the names of its first and last version (both inclusive)
    "read/change_page": ("after_version max_version", PAGE),
    "read/deletes": ("min_version max_version", {"resource_key_id": 2, "page_size": 50, "with_key": 1}),
    "read/key_changes": ("min_version max_version", {"resource_key_id": 1, "page_size": 50, "with_key": 1}),
    "read/plan_events": ("first last", {"ranges": RANGES, "most_events": 50, "step": 1}),
    "read/plan_events_of": ("first last", {"ranges": RANGES, "most_events": 50, "step": 1, "resource_key_ids": "[1, 2]"}),
    "read/plan_identities": ("first last", {"ranges": RANGES, "most_events": 50, "most_parents": 50}),
    "read/plan_identities_of": (
        "first last",
        {"ranges": RANGES, "most_events": 50, "most_parents": 50, "resource_key_ids": "[1, 2]"},
    ),
    "spark/plan_deletes": ("min_version max_version", {"resource_key_ids": "[1, 2]", "rows_per_part": 5, "most_parts": 4}),
    "spark/plan_key_changes": ("min_version max_version", {"resource_key_ids": "[1, 2]", "rows_per_part": 5, "most_parts": 4}),
    "operate/verify_events": ("after last", {}),
    "operate/verify_tombstones": ("after last", AGAIN),
    "operate/prune_document_changes": ("after_version through", {"after_id": 0, "batch_size": 50}),
    "operate/prune_identity_changes": ("after_version through", {"after_id": 0, "batch_size": 50}),
    "operate/prune_key_changes": ("after_version through", {"batch_size": 50}),
    "operate/prune_deletes": ("after_version through", {"batch_size": 50}),
}
WINDOW = (2_100, 2_900)  # of the third part


def scanned(parted: Parted, text: str, binds: dict[str, Any], *, kept: bool) -> set[str]:
    """The parts of journals of which a plan that was run has read something."""
    names = list(dict.fromkeys(re.findall(r"(?<!:):(\w+)", re.sub(r"--[^\n]*", "", text))))
    bare = re.sub(r"(?<!:):(\w+)", lambda bind: f"${names.index(bind[1]) + 1}", re.sub(r"--[^\n]*", "", text))
    session = parted.session
    with session.transaction(force_rollback=True):
        session.execute(sql.text_of("postgres", "queries/database/begin_page"))
        session.execute(f"SET LOCAL plan_cache_mode = force_{'generic' if kept else 'custom'}_plan")
        session.execute(f"PREPARE read AS {bare}")
        try:
            values = ", ".join("NULL" if binds[name] is None else f"'{binds[name]}'" for name in names)
            [(found,)] = session.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE read ({values})" if names else "EXECUTE read")
        finally:
            session.execute("DEALLOCATE read")
    return {
        node["Relation Name"]
        for node in nodes(found[0]["Plan"])
        if re.match("(documentchange|identitychange|keychange|documentdelete)event", node.get("Relation Name", ""))
        and node["Actual Loops"] > 0
        and node["Node Type"] != "ModifyTable"
    }


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("Plans", []):
        yield from nodes(child)


def part_of(*versions: int) -> set[str]:
    return {f"to_{version // SIZE * SIZE + SIZE}" for version in versions}


def ends(names: set[str]) -> set[str]:
    return {name.partition("_")[2] for name in names}


def asked(binds: dict[str, Any], window: dict[str, int]) -> dict[str, Any]:
    """The binds, where the window's ends are within one as well."""
    return {name: value.format(**window) if value == RANGES else value for name, value in binds.items()} | window


KEPT = pytest.mark.parametrize("kept", [False, True], ids=["planned once", "kept plan"])


@pytest.mark.acceptance("41")
@KEPT
@pytest.mark.parametrize("name", READS)
def test_no_part_is_scanned_that_the_window_does_not_touch(parted: Parted, name: str, kept: bool) -> None:
    ends_of_window, binds = READS[name]
    first, last = ends_of_window.split()
    text = sql.text_of("postgres", f"queries/{name}")
    window = {first: WINDOW[0], last: WINDOW[1], **({"after_version": WINDOW[0]} if first == "min_version" else {})}
    inside = scanned(parted, text, asked(binds, window), kept=kept)
    assert ends(inside) == part_of(*WINDOW), inside
    across = scanned(parted, text, asked(binds, {**window, last: WINDOW[1] + SIZE}), kept=kept)
    assert part_of(*WINDOW) <= ends(across) <= part_of(WINDOW[0], WINDOW[1] + SIZE), across


@pytest.mark.parametrize("window", [WINDOW, (1, SIZE - 1), (SIZE, SIZE), (SIZE - 1, SIZE)])
def test_the_view_scans_the_parts_of_its_bounds(parted: Parted, window: tuple[int, int]) -> None:
    """As each of Spark's tasks reads it, with its own closed bounds."""
    bounds = f"ResourceKeyId = 2 AND ChangeVersion BETWEEN {window[0]} AND {window[1]}"
    text = f"SELECT DocumentId, ChangeVersion FROM dms.ResourceChange WHERE {bounds}"
    found = parted.session.execute("EXPLAIN (FORMAT JSON) " + text).fetchone()
    assert found is not None
    names = {node["Relation Name"] for node in nodes(found[0][0]["Plan"]) if "event_" in node.get("Relation Name", "")}
    assert ends(names) == part_of(*window)


@KEPT
def test_a_stored_page_and_a_page_read_the_same_parts(parted: Parted, kept: bool) -> None:
    """With option max_dep_identity_version a page reads no journal at all; a derived page is as in the test above."""
    if "max_dep_identity_version" not in migrate.installed(parted.url).options:
        pytest.skip("without the option there is no such page")
    text = sql.text_of("postgres", "queries/read/change_page_stored")
    binds = {**PAGE, "after_version": WINDOW[0], "max_version": WINDOW[1]}
    assert ends(scanned(parted, text, binds, kept=kept)) <= part_of(*WINDOW)


def test_a_write_touches_the_last_part_and_looks_up_the_others_by_version(parted: Parted) -> None:
    session = parted.session
    with session.transaction(force_rollback=True):
        session.execute("UPDATE dms.Document SET ContentVersion = 0 WHERE DocumentId = 1")
        locked = session.execute(
            "SELECT relation::regclass::text, mode FROM pg_locks"
            " WHERE pid = pg_backend_pid() AND mode = 'RowExclusiveLock' AND relation IN"
            " (SELECT oid FROM pg_class WHERE relispartition AND relkind = 'r')"
        ).fetchall()
        assert {ends({name}).pop() for name, _ in locked} == part_of(parted.newest + 1)


# Splitting.


@pytest.fixture
def old(journal: dj.Journal, url: str) -> History:
    """A journal with a history that came before the option: 2,500 versions in one part."""
    populate(url, 1_000)
    migrate.upgrade(url, options=["partitions"])
    journal.partitions.ensure(versions=1_000, ahead=2)
    return History(url)


def test_a_split_tells_how_many_rows_it_has_copied(journal: dj.Journal, old: History, connections) -> None:
    journal.prune(100)  # the server's estimate still has what went
    held = {name: connections[0].execute(sa.text(f"SELECT count(*) FROM dms.{name}")).scalar_one() for name in JOURNALS}
    connections[0].rollback()  # a split waits for transactions that are open
    done = journal.partitions.split(versions=500, batch_size=300)
    assert {step.journal: step.rows for step in done} == held


def bounds_of(journal: dj.Journal, name: str) -> list[tuple[int | None, int | None]]:
    return [(part.low, part.high) for part in journal.partitions.list() if part.journal == name and not part.is_default]


def test_a_split_keeps_every_row_and_cuts_at_multiples(journal: dj.Journal, old: History) -> None:
    assert {part.partition for part in journal.partitions.list() if part.rows} == {f"{name.lower()}_to_2501" for name in JOURNALS}
    done = journal.partitions.split(versions=500, batch_size=300)
    assert {step.journal for step in done} == set(JOURNALS)
    old.check()
    starts = [None, 500, 1_000, 1_500, 2_000, 2_500, 2_501, 4_000]
    assert bounds_of(journal, "DocumentChangeEvent") == list(zip(starts, [*starts[1:], 5_000], strict=True))
    assert bounds_of(journal, "IdentityChangeEvent")[0] == (None, 1_500), "no pieces before the first row"
    assert list(journal.partitions.split(versions=500)) == []
    assert journal.verify().is_clean
    assert journal.prune(1_749).finished
    old.check()


def test_the_rows_of_a_split_part_are_counted_once(journal: dj.Journal, old: History, url: str, connections) -> None:
    """By the estimate of `partitions list`, which a prune that drops parts sums up. A session tells its numbers when it ends."""
    sessions = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend'"
    [(before,)] = commit(connections[0], sessions)
    with dj.connect(url) as splitting:
        splitting.partitions.split(versions=500, journal="DocumentChangeEvent")
    while commit(connections[0], sessions)[0][0] > before:
        pass
    told = [part.rows for part in journal.partitions.list() if part.journal == "DocumentChangeEvent"]
    assert sum(told) == journal.verify().events


def test_a_split_before_ensure_says_what_to_run(journal: dj.Journal, url: str) -> None:
    populate(url, 10)
    migrate.upgrade(url, options=["partitions"])
    with pytest.raises(dj.UnsupportedCapability, match=r"default part of dms\.DocumentChangeEvent holds events: run dmsjournal"):
        journal.partitions.split(versions=5)


def test_a_split_into_more_pieces_than_there_may_be_is_refused_at_once(journal: dj.Journal, url: str, connections) -> None:
    """Where the sequence was set far ahead there are billions of them, and none is looked for."""
    populate(url, 10)
    commit(connections[0], "SELECT setval('dms.ChangeVersionSequence', 9000000000000000000)")
    migrate.upgrade(url, options=["partitions"])
    journal.partitions.ensure(versions=500, ahead=1)
    with connections[1].begin():
        connections[1].exec_driver_sql("SET LOCAL statement_timeout = '5s'")
        part = journal.partitions.list()[0].partition
        assert connections[1].exec_driver_sql(f"SELECT dms.begin_split('DocumentChangeEvent', '{part}', 500)").scalar_one() > 1e15
    with pytest.raises(dj.InvalidRequest, match=r"would fall into \d+ pieces"):
        journal.partitions.split(versions=500)


def test_a_split_of_one_journal_only(journal: dj.Journal, old: History) -> None:
    assert [step.journal for step in journal.partitions.split(versions=500, journal="KeyChangeEvent")] == ["KeyChangeEvent"]
    with pytest.raises(dj.InvalidRequest, match="journal"):
        journal.partitions.split(journal="Document")


def test_a_split_that_was_cut_off_goes_on_where_it_was(journal: dj.Journal, old: History) -> None:
    copied: list[int] = []

    def stop(step: partitions.PartitionStep) -> None:
        copied.append(step.rows)
        if len(copied) == 3:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        journal.partitions.split(versions=500, journal="DocumentChangeEvent", batch_size=300, progress=stop)
    old.check()
    assert journal.verify().is_clean
    rows: list[int] = []
    journal.partitions.split(
        versions=500, journal="DocumentChangeEvent", batch_size=300, progress=lambda step: rows.append(step.rows)
    )
    assert copied[-1] + rows[-1] == len(old.versions["DocumentChangeEvent"])
    old.check()


@pytest.mark.parametrize("versions", [500, 700])
def test_what_was_pruned_or_repaired_meanwhile_does_not_come_back(
    journal: dj.Journal, old: History, connections: list[sa.Connection], versions: int
) -> None:
    def stop(step: partitions.PartitionStep) -> None:
        if step.rows > 1_000:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        journal.partitions.split(versions=500, journal="DocumentChangeEvent", batch_size=400, progress=stop)
    journal.prune(250)
    assert journal.partitions.split(versions=versions, journal="DocumentChangeEvent")
    old.check()
    left = "SELECT count(*) FROM pg_class WHERE relnamespace = 'dms'::regnamespace AND relname LIKE '%%_split_%%' AND relkind = 'r'"
    assert commit(connections[0], left) == [(0,)]


def test_a_program_from_before_the_option_repairs_beside_no_split(journal: dj.Journal, url: str) -> None:
    """It may not change what a split has copied, also where it does not know yet that there are parts."""
    populate(url, 10)
    journal.versions()
    migrate.upgrade(url, options=["partitions"])
    with dj.connect(url) as other, other.partitions._alone(), pytest.raises(dj.Unavailable, match="another prune"):
        journal.repair()


def test_a_part_that_is_written_yet_is_not_split(journal: dj.Journal, old: History, connections: list[sa.Connection]) -> None:
    commit(connections[0], "UPDATE dms.Document SET ContentVersion = 0")  # 800 of them: from 2501 on
    assert newest(journal) == 3_300
    assert journal.partitions.split(versions=100, journal="DocumentChangeEvent")
    bounds = bounds_of(journal, "DocumentChangeEvent")
    assert (2_501, 4_000) in bounds
    assert (2_400, 2_500) in bounds


# What the schema is made of.


def test_verify_knows_the_shape(journal: dj.Journal, old: History, connections: list[sa.Connection]) -> None:
    def found() -> dict[str, tuple[int | str, ...]]:
        return {finding.code: finding.objects for finding in journal.verify().findings}

    assert found() == {}
    commit(connections[0], "ALTER TABLE dms.KeyChangeEvent DETACH PARTITION dms.keychangeevent_default")
    assert found() == {
        "partition-altered": ("keychangeevent (has no default part)",),
        "part-missing": ("keychangeevent_default (the versions of no other part)",),
    }
    assert [step.step for step in journal.partitions.ensure(versions=1_000, ahead=2)] == ["added keychangeevent_default"]
    commit(connections[0], "DROP TABLE dms.keychangeevent_default")
    journal.partitions.ensure(versions=1_000, ahead=2)
    assert found() == {}
    commit(connections[0], "ALTER TABLE dms.keychangeevent_to_4000 DISABLE TRIGGER tr_keychangeevent_truncate")
    assert found() == {"partition-altered": ("keychangeevent_to_4000 (TRUNCATE is not refused there)",)}
    commit(connections[0], "ALTER TABLE dms.keychangeevent_to_4000 ENABLE TRIGGER tr_keychangeevent_truncate")
    commit(connections[0], "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'dms.keychangeevent_to_2501_2'::regclass")
    assert list(found().values()) == [("keychangeevent_to_2501 (has no valid index for ix_keychangeevent_resource)",)]


def test_truncate_is_refused_on_every_part(journal: dj.Journal, old: History, connections: list[sa.Connection]) -> None:
    for name in ["dms.KeyChangeEvent", *(f"dms.{part.partition}" for part in journal.partitions.list())]:
        with pytest.raises(sa.exc.DBAPIError, match="is refused"):
            commit(connections[0], f"TRUNCATE {name}")


def test_a_pruner_may_drop_parts_and_nobody_else(
    journal: dj.Journal, url: str, connections: list[sa.Connection], postgres_server
) -> None:
    admin = connections[0]
    database = sa.make_url(url).database
    commit(admin, f"CREATE ROLE pruner_of_{database} LOGIN PASSWORD 'p'")
    try:
        commit(admin, f"GRANT USAGE ON SCHEMA dms TO pruner_of_{database}")
        commit(
            admin,
            "GRANT SELECT, DELETE ON dms.DocumentChangeEvent, dms.IdentityChangeEvent, dms.KeyChangeEvent, dms.DocumentDeleteEvent"
            f" TO pruner_of_{database}",
        )
        commit(admin, f"GRANT SELECT, UPDATE ON dms.JournalFloor TO pruner_of_{database}")
        commit(admin, f"GRANT EXECUTE ON FUNCTION dms.hold_lease(text, uuid, text, integer, boolean) TO pruner_of_{database}")
        commit(admin, f"GRANT SELECT ON dms.ChangeConsumer, dms.alembic_version TO pruner_of_{database}")
        commit(admin, f"GRANT SELECT ON SEQUENCE dms.ChangeVersionSequence TO pruner_of_{database}")
        migrate.upgrade(url, options=["partitions"])
        journal.partitions.ensure(versions=500, ahead=6)
        populate(url, 1_000)
        history = History(url)
        with dj.connect(sa.make_url(url).set(username=f"pruner_of_{database}", password="p")) as pruner:
            pruned = pruner.prune(1_700)
            assert pruned.finished
            assert {j.journal: j.dropped for j in pruned.journals}["DocumentChangeEvent"] == 3
            history.check()
            with pytest.raises(dj.DatabaseRefused):
                pruner.partitions.ensure(versions=500, ahead=9)
            commit(admin, f"REVOKE DELETE ON dms.DocumentChangeEvent FROM pruner_of_{database}")
            with (
                pruner.database.pool.begin() as session,
                pytest.raises(sa.exc.DBAPIError, match="permission denied for table documentchange"),
            ):
                session.exec_driver_sql("SELECT dms.drop_partition('DocumentChangeEvent', 'documentchangeevent_to_2000', '{}')")
    finally:
        commit(admin, f"DROP OWNED BY pruner_of_{database}")
        commit(admin, f"DROP ROLE pruner_of_{database}")


def test_a_part_above_the_floor_cannot_be_dropped(journal: dj.Journal, old: History, connections: list[sa.Connection]) -> None:
    with pytest.raises(sa.exc.DBAPIError, match="above its floor 0"):
        commit(connections[0], "SELECT dms.drop_partition('DocumentChangeEvent', 'documentchangeevent_to_2501', '{}')")
    old.check()


@pytest.mark.parametrize(
    ("made", "named"),
    [
        ("CREATE VIEW public.events AS SELECT * FROM dms.KeyChangeEvent", "events"),
        ("CREATE MATERIALIZED VIEW public.events AS SELECT * FROM dms.KeyChangeEvent", "events"),
        ("CREATE TRIGGER mine BEFORE DELETE ON dms.KeyChangeEvent EXECUTE FUNCTION dms.refuse_truncate()", "trigger mine"),
        ("CREATE PUBLICATION mine FOR TABLE dms.KeyChangeEvent", "publication mine"),
    ],
)
def test_what_would_go_on_with_a_part_stops_the_upgrade(url: str, connections: list[sa.Connection], made: str, named: str) -> None:
    commit(connections[0], made)
    with pytest.raises(dj.MigrationRefused, match=f"KeyChangeEvent is used by .*{named}"):
        migrate.upgrade(url, options=["partitions"])
    assert migrate.installed(url).options == ()


def test_rights_and_owner_of_the_journals_stay_in_both_directions(url: str, connections: list[sa.Connection]) -> None:
    admin, role = connections[0], f"reader_of_{sa.make_url(url).database}"
    acl = "SELECT relname, relacl::text FROM pg_class WHERE relname IN ('documentchangeevent', 'keychangeevent') ORDER BY 1"
    columns = (
        "SELECT attname, attacl::text FROM pg_attribute WHERE attrelid = 'dms.KeyChangeEvent'::regclass AND attacl IS NOT NULL"
    )
    commit(admin, f"CREATE ROLE {role}")
    try:
        commit(admin, f"GRANT SELECT, DELETE ON dms.DocumentChangeEvent TO {role} WITH GRANT OPTION")
        commit(admin, f"GRANT SELECT (DocumentId) ON dms.KeyChangeEvent TO {role}")
        before = commit(admin, acl), commit(admin, columns)
        migrate.upgrade(url, options=["partitions"])
        assert (commit(admin, acl), commit(admin, columns)) == before
        with dj.connect(url) as journal:
            journal.partitions.ensure(versions=500, ahead=2)
            populate(url, 100)
        migrate.downgrade(url, without=["partitions"])
        assert (commit(admin, acl), commit(admin, columns)) == before
    finally:
        commit(admin, f"DROP OWNED BY {role}")
        commit(admin, f"DROP ROLE {role}")


def test_a_part_whose_rows_an_earlier_prune_has_deleted_counts_none_again(
    url: str, journal: dj.Journal, connections: list[sa.Connection]
) -> None:
    """While a reader is in the way, a prune deletes the rows of a part; the next one drops it. Statistics are of before."""
    migrate.upgrade(url, options=["partitions"])
    journal.partitions.ensure(versions=10, ahead=3)
    write(journal, *(document(SCHOOL, number) for number in range(25)))
    commit(connections[0], "ANALYZE dms.DocumentChangeEvent")
    commit(connections[0], "DELETE FROM dms.DocumentChangeEvent WHERE ChangeVersion < 20")
    connections[0].exec_driver_sql("SELECT pg_stat_force_next_flush()")
    connections[0].rollback()
    told = {each.journal: (each.deleted, each.dropped) for each in journal.prune(through=19).journals}
    assert told["DocumentChangeEvent"] == (0, 2)
