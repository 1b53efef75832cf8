"""Option partitions changes no answer, and what a prune does with parts is what it does with rows (docs/operator/partitions.md).

What is imported from test_prune.py runs here on journals in parts of four versions.
"""

import json
from itertools import pairwise

import pytest
import sqlalchemy as sa
from typer.testing import CliRunner

import dmsjournal as dj
from dmsjournal import cli
from dmsjournal.model.journals import JOURNALS
from dmsjournal.operate.alerts import Limits
from dmsjournal.operate.prometheus import exposition
from dmsjournal.schema import fill, migrate
from tests.helpers import PLAN, SCHOOL, STUDENT, change_identity, commit, document, expected_changes, newest, write
from tests.sqlserver.babelfish import PARTITIONS

from .test_prune import (  # noqa: F401
    floors_of,
    test_a_consumer_inside_a_version_keeps_that_version,
    test_a_floor_never_falls_and_a_second_prune_finds_nothing,
    test_a_prune_deletes_what_is_at_or_below_a_version,
    test_a_prune_stops_at_the_slowest_consumer_and_names_it,
    test_a_walk_that_the_floor_does_not_pass_finishes,
    test_a_walk_that_the_floor_passes_ends_with_an_error,
    test_a_window_from_the_floor_is_expired_and_one_above_it_is_served,
    test_documents_their_versions_and_their_etags_stay,
    test_events_below_a_floor_go_too,
    test_some_journals_only,
    test_what_was_written_after_a_prune_is_journaled_whoever_wrote_it,
    test_who_goes_on_from_a_snapshot_misses_nothing_after_everything_was_pruned,
    versions_of,
    with_history,
)


@pytest.fixture
def parted(url: str, journal: dj.Journal) -> dj.Journal:
    """A journal that is empty, in parts of four versions."""
    try:
        migrate.upgrade(url, options=["partitions"])
    except dj.JournalError as refused:
        if PARTITIONS.there not in str(refused):
            raise
        pytest.xfail(f"Babelfish: {PARTITIONS.there}. SQL Server {PARTITIONS.sqlserver}.")
    assert journal.partitions.ensure(versions=4, ahead=4)
    return journal


@pytest.fixture
def history(parted: dj.Journal, connections: list[sa.Connection]) -> dj.Journal:
    with_history(parted, connections[0])
    if parted.database.engine.NAME == "postgres":
        commit(connections[0], "ANALYZE")  # so that the estimates of a part's rows are right
    return parted


def bounds_of(journal: dj.Journal, name: str = "DocumentChangeEvent") -> list[tuple[int | None, int | None]]:
    return [(part.low, part.high) for part in journal.partitions.list() if part.journal == name and not part.is_default]


def assert_as_defined(journal: dj.Journal, connection: sa.Connection) -> None:
    """Everything in one page and in pages of one, what begins at each version, and the view."""
    versions = journal.versions()
    for of, resource_key_id in journal.resources().items():
        every = expected_changes(connection, resource_key_id)
        kept = [change for change in every if change.change_version >= versions.oldest]
        assert list(journal.changes(of, dj.Window(versions.oldest), page_size=1)) == kept
        for first in range(versions.oldest, versions.newest + 1):
            window = dj.Window(first, first + 3)
            expected = [change for change in every if first <= change.change_version <= first + 3]
            assert list(journal.changes(of, window)) == expected
    rows = commit(connection, "SELECT DocumentId, ChangeVersion FROM dms.ResourceChange WHERE ChangeVersion >= 1")
    assert len({row[0] for row in rows}) == len(rows)


@pytest.mark.acceptance("54")
@pytest.mark.parametrize("options", [["partitions"], ["max_dep_identity_version", "partitions"]])
def test_a_journal_with_history_reads_and_writes_as_before(
    url: str, journal: dj.Journal, connections: list[sa.Connection], options: list[str]
) -> None:
    with_history(journal, connections[0])

    def told() -> list[object]:
        return [list(read(of)) for read in (journal.changes, journal.deletes, journal.key_changes) for of in (STUDENT, PLAN)]

    before = told()
    migrate.upgrade(url, options=options)
    if len(options) > 1:
        fill.fill(url, options[0])
    with dj.connect(url) as knowing:
        for each in (journal, knowing):  # one that was there before goes on
            assert told() == before
            assert_as_defined(each, connections[0])
        knowing.partitions.ensure(versions=4, ahead=2)
        assert told() == before
        write(knowing, document(SCHOOL, 1), document(PLAN, 8, document(SCHOOL, 1)))
        change_identity(connections[0], 1)
        assert_as_defined(knowing, connections[0])
        assert knowing.verify().is_clean
    migrate.downgrade(url, without=["partitions"])
    assert_as_defined(journal, connections[0])
    assert journal.verify().is_clean


def test_writes_at_every_edge_of_a_part_and_past_the_last_one_are_found(
    parted: dj.Journal, connections: list[sa.Connection]
) -> None:
    """Whoever is late with `ensure`, no write fails and none is unseen: the default part has them, until `ensure` comes."""
    last = bounds_of(parted)[-1][1]
    assert last is not None
    school = document(SCHOOL, 0)
    write(parted, school)
    while newest(parted) < last + 5:
        number = newest(parted)
        write(parted, document(PLAN, number, school))
        change_identity(connections[0], 1)
    with parted.write() as tx:
        tx.rekey(SCHOOL, {"schoolId": 0}, {"schoolId": 1})
        tx.delete(PLAN, {"graduationPlanId": 1})
    assert_as_defined(parted, connections[0])
    before = versions_of(connections[0])
    steps = parted.partitions.ensure(versions=4, ahead=4)
    assert steps
    assert versions_of(connections[0]) == before
    assert_as_defined(parted, connections[0])
    assert all(part.rows == 0 for part in parted.partitions.list() if part.is_default)
    assert parted.verify().is_clean


def test_ensure_adds_what_is_missing_and_nothing_twice(parted: dj.Journal) -> None:
    for name in JOURNALS:
        bounds = bounds_of(parted, name)
        assert bounds[0][0] is None
        assert all(before[1] == after[0] for before, after in pairwise(bounds))
        assert bounds[-1][1] is not None
        assert bounds[-1][1] > newest(parted) + 4 * 4
    before = parted.partitions.list()
    assert list(parted.partitions.ensure(versions=4, ahead=4)) == []
    assert parted.partitions.list() == before
    assert parted.partitions.ensure(versions=4, ahead=6)
    assert bounds_of(parted)[-1][1] == bounds_of(parted)[-2][1] + 4


@pytest.mark.acceptance("49")
def test_whole_parts_are_dropped_and_the_rest_goes_in_batches(history: dj.Journal, connections: list[sa.Connection]) -> None:
    before = versions_of(connections[0])
    pruned = history.prune(9)
    assert pruned.finished
    assert {j.journal: j.dropped > 0 for j in pruned.journals}["DocumentChangeEvent"]
    assert versions_of(connections[0]) == {name: [v for v in kept if v > 9] for name, kept in before.items()}
    assert floors_of(connections[0]) == dict.fromkeys(JOURNALS, 9)
    assert all(part.low is None or part.high is None or part.high > 8 or not part.rows for part in history.partitions.list())
    assert history.verify().is_clean


def test_a_dry_run_counts_the_rows_of_all_parts(history: dj.Journal, connections: list[sa.Connection]) -> None:
    meant = history.prune(9, dry_run=True)
    assert {j.journal: j.deleted for j in meant.journals} == {
        name: sum(v <= 9 for v in kept) for name, kept in versions_of(connections[0]).items()
    }
    assert all(j.bytes > 0 for j in meant.journals if j.deleted)
    assert history.versions().oldest == 0


def test_status_adds_up_the_parts(history: dj.Journal) -> None:
    parts, journals, again = history.partitions.list(), history.status().journals, history.partitions.list()
    while parts != again:  # the server counted the rows of a part meanwhile
        parts, journals, again = again, history.status().journals, history.partitions.list()
    for journal in journals:
        assert journal.bytes == sum(part.bytes for part in parts if part.journal == journal.name)
        assert journal.rows == sum(part.rows for part in parts if part.journal == journal.name)


@pytest.mark.acceptance("52")
def test_a_prune_that_ended_between_floor_and_parts_is_finished_by_the_next(
    history: dj.Journal, connections: list[sa.Connection], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The floor is above rows then: nobody is served them, verify finds nothing wrong, and they go."""
    monkeypatch.setattr("dmsjournal.operate.partitions.Dropping.drop", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        history.prune(9)
    monkeypatch.undo()
    assert floors_of(connections[0])["DocumentChangeEvent"] == 7
    assert history.verify().is_clean
    with pytest.raises(dj.CheckpointExpired):
        history.changes(STUDENT, dj.Window(7))
    assert_as_defined(history, connections[0])
    assert history.prune(9).finished
    assert min(versions_of(connections[0])["DocumentChangeEvent"]) > 9
    assert history.verify().is_clean


def test_repair_works_on_parts(history: dj.Journal, connections: list[sa.Connection]) -> None:
    commit(connections[0], "DELETE FROM dms.DocumentChangeEvent WHERE ChangeVersion = 8")
    assert [finding.code for finding in history.verify().findings] == ["document-unjournaled"]
    assert history.repair().left.is_clean
    assert_as_defined(history, connections[0])


def test_without_the_option_there_are_no_parts(journal: dj.Journal) -> None:
    for call in (journal.partitions.list, journal.partitions.ensure, journal.partitions.split):
        with pytest.raises(dj.UnsupportedCapability, match=r"upgrade --with partitions|upgrade has cut"):
            call()


def test_a_refused_number_says_of_what_it_is(parted: dj.Journal) -> None:
    with pytest.raises(dj.InvalidRequest, match="ask for 1 to 1000 parts"):
        parted.partitions.ensure(ahead=0)
    with pytest.raises(dj.InvalidRequest, match="ask for 1 to 9223372036854775807 versions"):
        parted.partitions.ensure(versions=0)


@pytest.mark.parametrize("asked", [{"versions": 0}, {"versions": True}, {"ahead": 0}, {"ahead": 1001}])
def test_what_makes_no_sense_is_refused(journal: dj.Journal, asked: dict[str, int]) -> None:
    with pytest.raises(dj.InvalidRequest, match=next(iter(asked))):
        journal.partitions.ensure(**asked)


def test_the_commands(url: str, parted: dj.Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DMSJOURNAL_URL", url)

    def invoke(*arguments: str) -> list[str]:
        result = CliRunner().invoke(cli.app, ["partitions", *arguments])
        assert result.exit_code == 0, result.output
        return result.stdout.splitlines()

    assert invoke("ensure", "--versions", "4", "--ahead", "4") == []
    assert invoke("ensure", "--versions", "4", "--ahead", "5")
    listed = [json.loads(line) for line in invoke("list", "--json")]
    assert [(part["low"], part["high"]) for part in listed if part["journal"] == "KeyChangeEvent" and not part["is_default"]] == (
        bounds_of(parted, "KeyChangeEvent")
    )
    assert len(invoke("list")) == len(listed)


def test_the_database_keeps_what_ensure_was_given(parted: dj.Journal, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cron calls it without options: parts stay as wide as the first one asked for, until another width is asked for."""
    monkeypatch.setenv("DMSJOURNAL_URL", url)
    write(parted, *(document(STUDENT, number) for number in range(6)))
    with dj.connect(url) as other:
        assert other.partitions.ensure()
    assert all(high % 4 == 0 and high - (low or 0) <= 4 for low, high in bounds_of(parted))
    last = bounds_of(parted)[-1][1]
    assert last >= newest(parted) + 4 * 4
    assert CliRunner().invoke(cli.app, ["partitions", "ensure", "--versions", "50", "--ahead", "1"]).exit_code == 0
    write(parted, *(document(STUDENT, number) for number in range(100, 190)))
    assert CliRunner().invoke(cli.app, ["partitions", "ensure"]).exit_code == 0
    widths = {high - low for low, high in bounds_of(parted) if low is not None and low >= last}
    assert max(widths) == 50
    settings = parted.status().partitions
    assert (settings.versions, settings.ahead) == (50, 1)


def test_status_warns_before_the_parts_end_and_when_they_have(
    parted: dj.Journal, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DMSJOURNAL_URL", url)
    limits = Limits(partition_days=1000.0)
    write(parted, *(document(STUDENT, number) for number in range(2)))
    parts = parted.status().partitions
    through = bounds_of(parted)[-1][1] - 1
    assert (parts.through, parts.overflowing) == (through, ())
    assert parts.days_left == round((through - newest(parted)) / newest(parted), 2)  # all were written today
    assert parts.ensured_at is not None
    [soon] = limits.exceeded(parted.status())
    assert f"the parts of the journals last for {parts.days_left:.1f} days, and ensure ran last at {parts.ensured_at:%Y}" in soon
    assert Limits(partition_days=0.1).exceeded(parted.status()) == []
    write(parted, *(document(STUDENT, number) for number in range(100, 100 + through)))
    status = parted.status()
    assert status.partitions.overflowing == ("DocumentChangeEvent",)
    assert status.partitions.days_left == 0
    [full] = limits.exceeded(status)
    assert full.startswith("the default part of DocumentChangeEvent holds events: run `dmsjournal partitions ensure`")
    metrics = exposition(status)
    assert 'journal="DocumentChangeEvent"} 1.0\n' in metrics.partition("dmsjournal_partition_overflow")[2]
    assert "dmsjournal_partition_days_left" in metrics
    shown = CliRunner().invoke(cli.app, ["status", "--min-partition-days", "3"])
    assert shown.exit_code == 3
    assert "the default part of DocumentChangeEvent holds events" in shown.stdout
    assert "the default part of DocumentChangeEvent holds events" in shown.stderr
    parted.partitions.ensure()
    assert Limits(partition_days=0.0).exceeded(parted.status()) == []
    assert parted.status().partitions.overflowing == ()


def test_a_journal_without_the_option_has_no_parts_in_its_status(journal: dj.Journal) -> None:
    status = journal.status()
    assert status.partitions is None
    assert Limits(partition_days=1000.0).exceeded(status) == []
    assert "partition" not in exposition(status)
