"""Each rule of the shipped SQL taken out, one at a time: the race that it is there for must fail without it.

tests/mutations.md lists them. The races are the tests beside this file, which hold without a mutation.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
import sqlalchemy as sa

from dmsjournal.database import sql
from dmsjournal.schema import migrate

from . import (
    test_adoption_races,
    test_commit_order,
    test_edge_races,
    test_partition_races,
    test_prune_races,
    test_stamping_races,
    test_stored_maximum,
    test_tracked_races,
    test_verify_races,
)
from .mutating import Edit, apply_to_queries
from .races import Race

READ_THE_SEQUENCE = "    newest := (SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM dms.ChangeVersionSequence);"
TAKE_THE_LOCK = "pg_catalog.pg_advisory_xact_lock_shared(4920745542855688192"
TAKE_ANOTHER = "pg_catalog.pg_advisory_xact_lock_shared(3333"  # keys that no reader takes for a floor


@dataclass(frozen=True)
class Mutation:
    name: str
    test: Callable[..., None]
    edits: tuple[Edit, ...]
    arguments: tuple[object, ...] = ()
    patch: Callable[[Race, pytest.MonkeyPatch], None] | None = None
    options: tuple[str, ...] = ()
    prepare: Callable[[Race], Race] = lambda race: race

    def __str__(self) -> str:
        return self.name.replace(" ", "-")


def horizon_inside_the_page(race: Race, patch: pytest.MonkeyPatch) -> None:
    """No statement of its own: the page asks for the horizon, after its snapshot was taken."""
    texts = {
        "database/begin_page": sql.text_of("postgres", "queries/database/begin_page").replace(
            "dms.horizon()", "9223372036854775807"
        ),
        "read/change_page": sql.text_of("postgres", "queries/read/change_page").replace(
            "CAST(:max_version AS bigint)", "(SELECT dms.horizon())"
        ),
    }
    shipped = sql.query
    patch.setattr(sql, "query", lambda engine, name: sa.text(texts[name]) if name in texts else shipped(engine, name))


def one_snapshot_for_both(race: Race, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(race.journal.database, "pool", race.journal.database.pool.execution_options(isolation_level="REPEATABLE READ"))


ANY_SNAPSHOT: Edit = (
    "functions/horizon.v1",
    "IF current_setting('transaction_isolation') NOT IN",
    "IF false AND current_setting('transaction_isolation') NOT IN",
)

CALLERS_STAMP_IS_KEPT: tuple[Edit, ...] = (
    (
        "functions/stamp_update.v1",
        "    stamp    bigint;\n",
        "    stamp    bigint;\n    callers  bigint := NEW.ContentVersion;\n",
    ),
    (
        "functions/stamp_update.v1",
        "    IF content THEN\n        NEW.ContentVersion := stamp;",
        "    IF TG_OP = 'UPDATE' AND callers > 0 THEN stamp := callers; END IF;\n"
        "    IF content THEN\n        NEW.ContentVersion := stamp;",
    ),
)

NOT_SEEN = test_partition_races.NOT_SEEN
RESOURCE_INDEX = "CREATE INDEX IF NOT EXISTS IX_Document_ResourceKeyId ON dms.Document (ResourceKeyId, DocumentId);"
KEY_INDEX = (
    "CREATE INDEX IF NOT EXISTS IX_Document_KeyValues ON dms.Document (ResourceKeyId, jsonb_hash_extended(KeyValues, 0))\n"
    "    WHERE KeyValues IS NOT NULL;"
)
NO_WAIT_FOR_EDGES: Edit = (
    "functions/raise_pending.v1",
    "    PERFORM FROM dms.Document WHERE DocumentId = ANY (children) ORDER BY DocumentId FOR UPDATE;\n",
    "",
)
RAISED_WHATEVER_THE_EDGES: Edit = (
    "functions/keep_max_dep.v1",
    "greatest(OLD.MaxDepIdentityVersion, (",
    "greatest(OLD.MaxDepIdentityVersion, (SELECT max(IdentityVersion) FROM dms.Document), (",
)
OLD_SNAPSHOTS_RAISE: Edit = (
    "functions/raise_at_commit.v1",
    "current_setting('transaction_isolation') IN ('read committed', 'read uncommitted')\n        AND ",
    "",
)

TRACKING = {"options": ("tracking",), "prepare": test_tracked_races.tables}
GENERATED = "functions/tracking_of.v1"

MUTATIONS = [
    Mutation(
        "no horizon lock",
        test_commit_order.test_newest_stays_below_a_stamp_that_is_not_committed,
        (("functions/enter_change.v1", TAKE_THE_LOCK, TAKE_ANOTHER), ("functions/stamp_update.v1", TAKE_THE_LOCK, TAKE_ANOTHER)),
    ),
    Mutation(
        "the lock is not taken again on a setting that is there: stamps",
        test_stamping_races.test_a_setting_that_a_session_wrote_hides_no_writer,
        (("functions/stamp_update.v1", TAKE_THE_LOCK, TAKE_ANOTHER),),
    ),
    Mutation(
        "the lock is not taken again on a setting that is there: deletes and inserts",
        test_stamping_races.test_a_setting_that_hides_a_delete_does_not,
        (
            (
                "functions/enter_change.v1",
                TAKE_THE_LOCK,
                TAKE_THE_LOCK.replace("shared(", "shared(CASE WHEN entered > '' THEN 3333 ELSE 0 END + "),
            ),
        ),
    ),
    Mutation(
        "a stamp at or below the floor is not refused",
        test_stamping_races.test_a_setting_that_no_transaction_can_have_is_refused,
        (("functions/stamp_update.v1", "IF floor OPERATOR(pg_catalog.<) 0 OR stamp", "IF false AND stamp"),),
        ("touch", "1000"),
    ),
    Mutation(
        "a floor below zero is not refused",
        test_stamping_races.test_a_setting_that_no_transaction_can_have_is_refused,
        (("functions/enter_change.v1", "IF floor OPERATOR(pg_catalog.<) 0 OR floor", "IF floor"),),
        ("delete", "-5"),
    ),
    Mutation(
        "a floor above the sequence is not refused",
        test_stamping_races.test_a_setting_that_is_taken_back_in_time_is_refused,
        (("functions/enter_change.v1", " OR floor OPERATOR(pg_catalog.>) newest THEN", " THEN"),),
    ),
    Mutation(
        "the lock outlives its savepoint and its transaction",
        test_stamping_races.test_newest_is_held_exactly_while_a_stamp_stands,
        (
            ("functions/enter_change.v1", "pg_advisory_xact_lock_shared", "pg_advisory_lock_shared"),
            ("functions/stamp_update.v1", "pg_advisory_xact_lock_shared", "pg_advisory_lock_shared"),
        ),
    ),
    Mutation(
        "the setting outlives its transaction",
        test_commit_order.test_newest_does_not_fall_when_a_session_writes_again,
        (("functions/enter_change.v1", "floor::pg_catalog.text, true)", "floor::pg_catalog.text, false)"),),
    ),
    Mutation(
        "a caller's stamp is kept",
        test_stamping_races.test_a_stamp_of_another_document_is_never_kept,
        CALLERS_STAMP_IS_KEPT,
    ),
    Mutation(
        "a caller's stamp is kept: two writers of one document",
        test_stamping_races.test_a_stamp_that_a_caller_drew_early_is_never_kept,
        CALLERS_STAMP_IS_KEPT,
        ("ContentVersion",),
    ),
    Mutation(
        "the lock is not taken anew where the sequence has moved",
        test_commit_order.test_newest_does_not_fall_when_a_writer_enters_late,
        (
            (
                "functions/enter_change.v1",
                "EXIT WHEN newest OPERATOR(pg_catalog.=) floor OR attempt OPERATOR(pg_catalog.=) 20;",
                "EXIT;",
            ),
        ),
    ),
    Mutation(
        "an insert does not enter",
        test_commit_order.test_an_insert_that_is_not_committed_holds_newest,
        (("functions/enter_statement.v1", "    PERFORM dms.enter_change();", "    PERFORM 1;"),),
        ("insert",),
    ),
    Mutation(
        "a delete does not enter",
        test_commit_order.test_a_delete_that_is_not_committed_holds_newest,
        (("functions/journal_delete.v1", "    floor := dms.enter_change();", "    floor := 0;"),),
    ),
    Mutation(
        "the locks are read before the sequence",
        test_commit_order.test_newest_reads_the_sequence_before_the_locks,
        (
            (
                "functions/horizon.v1",
                READ_THE_SEQUENCE,
                "    held := (SELECT min(floor) FROM dms.held_floors());",
            ),
            (
                "functions/horizon.v1",
                "    held := (SELECT min(floor) FROM dms.held_floors());\n    newest := least",
                f"{READ_THE_SEQUENCE}\n    newest := least",
            ),
        ),
    ),
    Mutation(
        "the horizon is read in any snapshot",
        test_commit_order.test_the_horizon_is_not_older_than_the_page,
        (ANY_SNAPSHOT,),
    ),
    Mutation(
        "the horizon is read in the page's snapshot: one transaction, REPEATABLE READ",
        test_commit_order.test_a_page_holds_what_was_committed_while_its_horizon_was_read,
        (ANY_SNAPSHOT,),
        patch=one_snapshot_for_both,
    ),
    Mutation(
        "the horizon is read in the page's snapshot: one statement",
        test_commit_order.test_a_page_holds_what_was_committed_while_its_horizon_was_read,
        (),
        patch=horizon_inside_the_page,
    ),
    Mutation(
        "locks of prepared transactions are not seen",
        test_commit_order.test_a_prepared_transaction_holds_newest_until_it_ends,
        (("functions/held_floors.v1", "l.granted\n", "l.granted AND l.pid IS NOT NULL\n"),),
        ("COMMIT",),
    ),
    Mutation(
        "locks of other databases are seen",
        test_commit_order.test_what_is_not_of_the_journal_does_not_hold_newest,
        (
            (
                "functions/held_floors.v1",
                "      AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())\n",
                "",
            ),
        ),
    ),
    Mutation(
        "edges do not stamp",
        test_edge_races.test_an_edge_that_comes_or_goes_is_a_change_of_its_parent,
        (("functions/stamp_parents.v1", "    IF NOT EXISTS (SELECT FROM changed) THEN", "    IF true THEN"),),
    ),
    Mutation(
        "edges stamp parents that this transaction has stamped",
        test_edge_races.test_an_edge_stamps_its_parent_once_a_transaction,
        (("functions/stamp_parents.v1", "p.local <= floor OR event.TransactionId IS DISTINCT FROM this_transaction;", "true;"),),
    ),
    Mutation(
        "not above the children's identity stamps: an edge that comes",
        test_edge_races.test_a_child_created_between_the_parent_and_its_edge,
        (("functions/stamp_parents.v1", "WHERE p.local < touched.newest_child OR", "WHERE"),),
    ),
    Mutation(
        "not above the children's identity stamps: an edge that goes",
        test_edge_races.test_an_edge_dropped_after_the_child_was_renamed_by_another_session,
        (("functions/stamp_parents.v1", "WHERE p.local < touched.newest_child OR", "WHERE"),),
        ("drop",),
    ),
    Mutation(
        "not above the children's identity stamps: an edge that leaves one for another",
        test_edge_races.test_an_edge_dropped_after_the_child_was_renamed_by_another_session,
        (("functions/stamp_repointed_parents.v1", "WHERE p.local < touched.newest_child OR", "WHERE"),),
        ("re-point",),
    ),
    Mutation(
        "not above the children's identity stamps: an edge that comes to another one",
        test_edge_races.test_an_edge_repointed_to_a_child_created_meanwhile,
        (("functions/stamp_repointed_parents.v1", "WHERE p.local < touched.newest_child OR", "WHERE"),),
    ),
    Mutation(
        "only the parent that an edge comes to is stamped",
        test_edge_races.test_an_edge_that_moves_stamps_both_of_its_parents,
        (
            (
                "functions/stamp_repointed_parents.v1",
                "EXCEPT SELECT ParentDocumentId, ChildDocumentId, ParentResourceKeyId FROM added) AS went",
                "WHERE false) AS went",
            ),
        ),
    ),
    Mutation(
        "the journal is not asked whose stamp it is",
        test_edge_races.test_a_stamp_of_another_transaction_above_the_floor_is_not_ones_own,
        (("functions/stamp_parents.v1", " OR event.TransactionId IS DISTINCT FROM this_transaction;", ";"),),
        ("READ COMMITTED",),
    ),
    Mutation(
        "the journal is not asked whose stamp it is: the setting is believed",
        test_stamping_races.test_a_setting_that_is_written_after_a_stamp_hides_no_edge,
        (("functions/stamp_parents.v1", " OR event.TransactionId IS DISTINCT FROM this_transaction;", ";"),),
    ),
    Mutation(
        "the locks are not asked where a row is at or below the floor",
        test_stamping_races.test_a_setting_that_is_written_by_returning_hides_no_event,
        (
            (
                "functions/journal_update.v1",
                "        floor := (SELECT min(held.floor)",
                "        floor := coalesce(floor, 0);\n        this_transaction := (SELECT min(held.floor)",
            ),
        ),
    ),
    Mutation(
        "the pairs of resources are recorded by nobody",
        test_edge_races.test_a_first_edge_between_two_resources_is_found_whoever_writes_it,
        (
            (
                "functions/stamp_parents.v1",
                "        WHERE TG_OP = 'INSERT' AND pair.ChildResourceKeyId IS NOT NULL",
                "        WHERE false AND pair.ChildResourceKeyId IS NOT NULL",
            ),
        ),
    ),
    Mutation(
        "a batch of a prune does not keep consumers from registering",
        test_prune_races.test_nobody_registers_below_a_batch_that_is_on_its_way,
        (("queries/operate/prune_begin", " FOR UPDATE)", ")"),),
    ),
    Mutation(
        "who registers keeps no batch from beginning",
        test_prune_races.test_a_batch_waits_for_who_is_registering,
        (("functions/register_consumer.v1", " FOR KEY SHARE;", ";"),),
    ),
    Mutation(
        "a consumer is moved back",
        test_prune_races.test_two_that_advance_one_consumer_leave_the_further_place,
        (
            (
                "functions/move_consumer.v1",
                "(backwards OR (consumer.ChangeVersion,",
                "(backwards OR true OR (consumer.ChangeVersion,",
            ),
        ),
    ),
    Mutation(
        "a rename does not wait for edges to its document",
        test_stored_maximum.test_an_edge_that_is_not_committed_when_its_child_is_renamed,
        (NO_WAIT_FOR_EDGES,),
        options=(test_stored_maximum.OPTION,),
    ),
    Mutation(
        "a parent is raised whatever its edges are by then",
        test_stored_maximum.test_an_edge_that_goes_while_its_parent_is_to_be_raised,
        (RAISED_WHATEVER_THE_EDGES,),
        options=(test_stored_maximum.OPTION,),
    ),
    Mutation(
        "a rename raises parents by an old snapshot",
        test_stored_maximum.test_a_rename_whose_snapshot_is_older_than_an_edge_is_left_to_the_next_one,
        (OLD_SNAPSHOTS_RAISE,),
        ("REPEATABLE READ",),
        options=(test_stored_maximum.OPTION,),
    ),
    Mutation(
        "a part is dropped whoever was open when the floor rose",
        test_partition_races.test_a_snapshot_that_is_older_than_the_floor_keeps_its_rows,
        (("functions/is_read_yet.v1", "EXISTS (SELECT FROM pg_locks", "false AND EXISTS (SELECT FROM pg_locks"), NOT_SEEN),
        options=("partitions",),
        prepare=test_partition_races.in_parts,
    ),
    Mutation(
        "a part is dropped whoever has adopted an old snapshot",
        test_partition_races.test_a_snapshot_that_a_later_session_adopted_keeps_its_rows,
        (),
        ("plain", [NOT_SEEN]),
        options=("partitions",),
        prepare=test_partition_races.in_parts,
    ),
    Mutation(
        "the floor is not looked at with the tombstones that are looked for",
        test_verify_races.test_a_tombstone_that_is_pruned_while_it_is_looked_for_is_not_missed,
        (
            (
                "queries/operate/verify_vanished",
                "  AND wanted.version > (SELECT max(ChangeVersion) FROM dms.JournalFloor WHERE Journal = 'DocumentDeleteEvent')\n",
                "",
            ),
        ),
    ),
    Mutation(
        "a stored maximum is judged while a rename is pending",
        test_verify_races.test_a_rename_that_is_left_to_the_next_one_is_no_finding,
        (("queries/operate/verify_maxima", "  AND NOT EXISTS (SELECT FROM dms.MaxDepIdentityPending)\n", ""),),
        options=(test_stored_maximum.OPTION,),
    ),
    Mutation(
        "stamps are drawn while a repair raises the sequence",
        test_verify_races.test_nobody_draws_a_stamp_while_the_sequence_is_raised,
        (
            (
                "queries/operate/repair_sequence",
                "    ALTER SEQUENCE dms.ChangeVersionSequence INCREMENT BY 1 NO MAXVALUE NO CYCLE CACHE 1;\n"
                "    ALTER SEQUENCE dms.ChangeVersionSequence SET LOGGED;\n",
                "",
            ),
        ),
    ),
    Mutation(
        "an edge is removed whatever its ends are by then",
        test_verify_races.test_an_edge_whose_child_has_come_back_meanwhile_is_not_removed,
        (("queries/operate/remove_dangling_edges", "AND (NOT EXISTS", "AND (true OR NOT EXISTS"),),
    ),
    Mutation(
        "readers are let in while a writer is open",
        test_adoption_races.test_a_writer_that_is_open_when_readers_are_let_in_is_waited_for,
        (("tables/hold_writers.v1", "LOCK TABLE dms.Document, dms.ReferenceEdge IN SHARE ROW EXCLUSIVE MODE;", "SELECT 1;"),),
    ),
    Mutation(
        "the highest version is read while a writer is open",
        test_adoption_races.test_a_writer_that_is_open_when_the_triggers_come_is_waited_for,
        (
            ("adopt/ready", "LOCK TABLE dms.Document IN SHARE ROW EXCLUSIVE MODE;", "NULL;"),
            ("tables/Document.v1", KEY_INDEX, ""),  # whose locks would hold writers too
            ("tables/Document.v1", RESOURCE_INDEX, ""),
            (  # which would take what is left of them for another program's
                "queries/schema/adopt_obstacles",
                "AND NOT EXISTS (SELECT FROM pg_temp.fitted_index AS i WHERE i.name = c.relname)",
                "AND c.relkind NOT IN ('i', 'I')",
            ),
        ),
    ),
    Mutation(
        "a document that has a stamp by now gets another",
        test_adoption_races.test_a_document_that_a_writer_has_stamped_is_not_stamped_again,
        (
            ("queries/schema/adopt_stamps", " FOR NO KEY UPDATE OF d", ""),
            ("queries/schema/adopt_stamps", "CASE WHEN d.ContentVersion > unstamped.version THEN d.ContentVersion END", "NULL"),
        ),
    ),
    Mutation(
        "an event that is there already is written again",
        test_adoption_races.test_a_document_that_a_writer_has_journaled_has_one_event_of_its_version,
        (("queries/schema/adopt_document_events", "ON CONFLICT DO NOTHING", ""),),
    ),
    Mutation(
        "no horizon lock: a tracked table",
        test_tracked_races.test_a_plain_statement_that_is_not_committed_holds_newest,
        (("functions/enter_change.v1", TAKE_THE_LOCK, TAKE_ANOTHER), ("functions/stamp_update.v1", TAKE_THE_LOCK, TAKE_ANOTHER)),
        ("UPDATE app.parent SET note = 'new' WHERE id = 1",),
        **TRACKING,
    ),
    Mutation(
        "a shown column is stamped as content",
        test_tracked_races.test_a_rename_meets_a_new_referrer,
        (
            (
                GENERATED,
                "IdentityVersion = NULL WHERE DocumentId = ANY (renamed)",
                "IdentityVersion = IdentityVersion WHERE DocumentId = ANY (renamed)",
            ),
        ),
        ("UPDATE app.parent SET child = 1 WHERE id = 1", "referrer", "referrer"),
        **TRACKING,
    ),
    Mutation(
        "a row that comes makes no edge",
        test_tracked_races.test_a_rename_meets_a_new_referrer,
        (
            (
                GENERATED,
                "%4$s FROM link AS l WHERE l.child IS NOT NULL GROUP BY l.parent, l.child\n",
                "%4$s FROM link AS l WHERE false GROUP BY l.parent, l.child\n",
            ),
        ),
        ("INSERT INTO app.parent VALUES (2, 'x', 1)", "referrer", "rename"),
        **TRACKING,
    ),
    Mutation(
        "old and new keys are not paired by the row",
        test_tracked_races.test_keys_change_while_a_referrer_comes,
        ((GENERATED, "    IF old_key = new_key THEN", "    IF true THEN"),),
        **TRACKING,
    ),
    Mutation(
        "edges to a row that goes stay",
        test_tracked_races.test_a_delete_meets_a_new_referrer,
        (
            (
                GENERATED,
                "DELETE FROM dms.ReferenceEdge AS e\n    USING unnest(ids)",
                "DELETE FROM dms.ReferenceEdge AS e\n    USING unnest(ids[2:1])",
            ),
        ),
        **TRACKING,
    ),
    Mutation(
        "a deferred reference is looked for at once alone",
        test_tracked_races.test_another_session_brings_the_row_of_a_deferred_reference,
        (
            (
                "functions/tracked_references.v1",
                "           con.condeferrable OR NOT con.convalidated",
                "           NOT con.convalidated",
            ),
        ),
        **TRACKING,
    ),
    Mutation(
        "a fill does not come back for locked rows",
        test_tracked_races.test_a_fill_comes_back_for_a_row_that_a_writer_has_locked,
        ((GENERATED, "    SELECT count(*) INTO passed", "    SELECT 0 * count(*) INTO passed"),),
        **TRACKING,
    ),
    Mutation(
        "a fill waits for a row that its rows refer to",
        test_tracked_races.test_a_batch_waits_for_no_writer,
        ((GENERATED, "_edges(touched, false);", "_edges(touched, true);"),),
        **TRACKING,
    ),
    Mutation(
        "a fill does not come back for edges to locked rows",
        test_tracked_races.test_a_batch_waits_for_no_writer,
        ((GENERATED, "    IF NOT waits AND missing_keys IS NOT NULL THEN", "    IF false THEN"),),
        **TRACKING,
    ),
    Mutation(
        "a fill does not lock its rows",
        test_tracked_races.test_a_writer_waits_for_a_batch_that_holds_its_row,
        ((GENERATED, "d.DocumentId IS NULL\n        FOR NO KEY UPDATE OF r SKIP LOCKED)", "d.DocumentId IS NULL)"),),
        ("UPDATE app.child SET id = 5, note = 'new'",),
        **TRACKING,
    ),
    Mutation(
        "documents of one row have different uuids",
        test_tracked_races.test_a_batch_that_an_older_snapshot_does_not_see_makes_no_second_document,
        ((GENERATED, "u.id LIMIT 1) THEN", "u.id LIMIT 1) IS NULL THEN"),),
        ("INSERT INTO app.parent VALUES (1, 'x', 1)",),
        **TRACKING,
    ),
    Mutation(
        "a fill trusts what it saw before it locked",
        test_tracked_races.test_a_batch_does_not_trust_what_it_saw_before_it_locked,
        (
            (GENERATED, "        WHERE d.DocumentId IS NULL\n        ON CONFLICT", "        WHERE true\n        ON CONFLICT"),
            (GENERATED, "u.id LIMIT 1) THEN", "u.id LIMIT 1) IS NULL OR true THEN"),
        ),
        **TRACKING,
    ),
    Mutation(
        "a fill removes a document whatever has come under its key",
        test_tracked_races.test_a_row_comes_under_the_key_of_a_document_that_a_fill_removes,
        (
            (
                GENERATED,
                "        WHERE r.is_there IS NULL OR o.DocumentId IS NOT NULL;\n    END IF;",
                "        WHERE true;\n    END IF;",
            ),
        ),
        ("writer",),
        **TRACKING,
    ),
    Mutation(
        "a row whose document a fill has removed meanwhile gets none",
        test_tracked_races.test_a_row_comes_under_the_key_of_a_document_that_a_fill_removes,
        ((GENERATED, "        IF stamped < cardinality(known) THEN", "        IF false THEN"),),
        ("fill",),
        **TRACKING,
    ),
]


@pytest.mark.parametrize("mutation", MUTATIONS, ids=str)
def test_the_race_fails_without_the_rule(
    url: str, mutation: Mutation, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    if mutation.options:
        migrate.upgrade(url, options=mutation.options)
    race = Race(url, mutation.edits)
    apply_to_queries(monkeypatch, *mutation.edits)
    if mutation.patch is not None:
        mutation.patch(race, monkeypatch)
    mutation.prepare(race)
    parameters = list(inspect.signature(mutation.test).parameters)
    given = {name: request.getfixturevalue(name) for name in ("postgres_server", "monkeypatch") if name in parameters}
    given |= dict(zip([name for name in parameters if name not in given], (race, *mutation.arguments), strict=False))
    try:
        with pytest.raises((AssertionError, pytest.fail.Exception)):  # the latter: an error that was to be raised was not
            mutation.test(**given)
    finally:
        race.close()


def row(mutation: Mutation) -> str:
    files = ", ".join(sorted({f"`{name}`" for name, _, _ in mutation.edits})) or "the reader"
    module = mutation.test.__module__.rpartition(".")[2]
    return f"| {mutation.name} | {files} | `{module}.py::{mutation.test.__name__}` |"


def test_the_list_names_each_mutation_and_the_test_that_fails() -> None:
    listed = (Path(__file__).parents[1] / "mutations.md").read_text(encoding="utf-8").splitlines()
    assert [line for line in listed if line.startswith("| ")][1:] == [row(mutation) for mutation in MUTATIONS]
