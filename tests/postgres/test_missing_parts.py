"""A part of a journal that was detached or dropped by hand (acceptance 96): readers refuse, verify names it, a floor rises."""

from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa

import dmsjournal as dj
from dmsjournal.events.arrow.reader import read_journal
from dmsjournal.operate.alerts import Limits
from dmsjournal.operate.partitions import Partition
from dmsjournal.operate.prometheus import exposition
from dmsjournal.operate.prune import JOURNALS
from dmsjournal.schema import migrate
from tests.helpers import PLAN, SCHOOL, STUDENT, commit, document, newest, write

SIZE = 10  # versions a part
READERS: dict[str, tuple[set[str], Callable[[dj.Journal, dj.Window], Any]]] = {
    "changes": ({"DocumentChangeEvent", "IdentityChangeEvent"}, lambda journal, window: list(journal.changes(PLAN, window, 3))),
    "deletes": ({"DocumentDeleteEvent"}, lambda journal, window: list(journal.deletes(SCHOOL, window, 3))),
    "key-changes": ({"KeyChangeEvent"}, lambda journal, window: list(journal.key_changes(STUDENT, window, 3))),
    "count": ({"DocumentChangeEvent", "IdentityChangeEvent"}, lambda journal, window: journal.count(PLAN, window)),
    "count of deletes": ({"DocumentDeleteEvent"}, lambda journal, window: journal.count(SCHOOL, window, "delete")),
    "count of key changes": ({"KeyChangeEvent"}, lambda journal, window: journal.count(STUDENT, window, "key_change")),
    "plan": ({"DocumentChangeEvent", "IdentityChangeEvent"}, lambda journal, window: journal.plan(PLAN, window)),
    "stream": (set(JOURNALS), lambda journal, window: journal.stream().window(window)),
    "feed": ({"DocumentChangeEvent", "DocumentDeleteEvent", "KeyChangeEvent"}, lambda journal, window: fed(journal, window)),
    "effects": (set(JOURNALS), lambda journal, window: journal.effects([EVENT])),
    "arrow": (
        {"DocumentChangeEvent", "DocumentDeleteEvent"},
        lambda journal, window: list(read_journal(journal.database.pool.url, window)),
    ),
}
EVENT: Any = None
PLACES = {"lowest": 0, "middle": 1, "newest": 2, "default": -1}
WAYS = ("detached", "dropped")
EACH = [  # each place of each journal one way, so that each place and each journal is tried both ways; the others in the long runs
    pytest.param(name, place, way, marks=() if (number + at + as_dropped) % 2 else pytest.mark.long)
    for number, name in enumerate(JOURNALS)
    for at, place in enumerate(PLACES)
    for as_dropped, way in enumerate(WAYS)
]


def fed(journal: dj.Journal, window: dj.Window) -> list[dj.FeedEvent]:
    """The events of all pages after the window's beginning."""
    request, events = dj.FeedRequest(start=dj.AfterVersion(window.first - 1), max_page_size=3), []
    while True:
        page = journal.read_changes(request)
        events += page.events
        if page.idle:
            return events
        request = dj.FeedRequest(start=dj.FromToken(page.token), max_page_size=3)


def listed(journal: dj.Journal, name: str) -> list[Partition]:
    """The parts of a journal that can hold events: two with old ones, the one that is written now, and the default one."""
    parts = [part for part in journal.partitions.list() if part.journal == name]
    at = newest(journal)
    bounded = [part for part in parts if not part.is_default and (part.low or 0) <= at]
    assert len(bounded) >= 3
    return [*bounded[-3:], parts[-1]]


@pytest.fixture
def parted(journal: dj.Journal, url: str) -> dj.Journal:
    """A journal each of whose parts has events of each kind in it."""
    migrate.upgrade(url, options=["partitions"])
    global EVENT
    for number in range(6):
        journal.partitions.ensure(versions=SIZE, ahead=1)
        student = document(STUDENT, number)
        write(journal, student, document(PLAN, number, student), document(SCHOOL, number))
        with journal.write() as tx:
            tx.rekey(STUDENT, {"studentId": number}, {"studentId": 100 + number})
            tx.delete(SCHOOL, {"schoolId": number})
    EVENT = fed(journal, dj.Window(1))[0]
    return journal


@pytest.mark.acceptance("96")
@pytest.mark.parametrize(("name", "place", "way"), EACH)
def test_a_part_that_is_gone_is_refused_named_and_expired(
    parted: dj.Journal, connections: list[sa.Connection], name: str, place: str, way: str
) -> None:
    part = listed(parted, name)[PLACES[place]]
    window = dj.Window(1)
    whole = {reader: read(parted, window) for reader, (_, read) in READERS.items() if reader not in ("plan", "stream", "arrow")}
    commit(connections[0], f"ALTER TABLE dms.{name} DETACH PARTITION dms.{part.partition}")
    if way == "dropped":
        commit(connections[0], f"DROP TABLE dms.{part.partition}")
    for reader, (journals, read) in READERS.items():
        if name in journals:
            with pytest.raises(dj.UnsupportedCapability, match=f"part {part.partition} of {name} is gone"):
                read(parted, window)
        elif reader in whole:
            assert read(parted, window) == whole[reader], reader
    [missing] = [each for each in parted.verify().findings if each.code == "part-missing"]
    assert missing.objects[0].startswith(f"{part.partition} (")  # type: ignore[union-attr]
    status = parted.status()
    assert status.partitions.missing == (f"part {part.partition} of {name}",)
    assert Limits(partition_days=0.0).exceeded(status)[0].startswith(f"part {part.partition} of {name} is gone")
    assert "} 1.0\n" in exposition(status).partition("\ndmsjournal_partitions_missing{")[2].splitlines(keepends=True)[0]

    if way == "detached":
        bounds = "DEFAULT" if part.is_default else f"FOR VALUES FROM ({part.low or 'MINVALUE'}) TO ({part.high})"
        commit(connections[0], f"ALTER TABLE dms.{name} ATTACH PARTITION dms.{part.partition} {bounds}")
        assert parted.verify().is_clean
        assert {reader: READERS[reader][1](parted, window) for reader in whole} == whole
        return
    before = newest(parted)
    if part.is_default:
        steps = [step.step for step in parted.partitions.ensure(versions=SIZE, ahead=1)]
        assert f"added {part.partition}, and raised the floor: it was dropped with what it held" in steps
    else:
        with pytest.raises(dj.JournalError, match=f"part {part.partition} of dms.{name} was detached or dropped"):
            parted.partitions.ensure(versions=SIZE, ahead=1)
        assert parted.repair().expired == (name,)
        parted.partitions.ensure(versions=SIZE, ahead=1)
    assert "part-missing" not in {each.code for each in parted.verify().findings}
    floors = {row.name: row.floor for row in parted.status().journals}
    assert floors[name] > before
    for journals, read in READERS.values():
        if name in journals:
            with pytest.raises(dj.CheckpointExpired):
                read(parted, window)
    write(parted, document(SCHOOL, 90))
    after = dj.Window(newest(parted))
    assert len(list(parted.changes(SCHOOL, after))) == 1


@pytest.mark.acceptance("96")
def test_a_part_that_a_prune_drops_is_not_missed(parted: dj.Journal) -> None:
    through = (listed(parted, "DocumentChangeEvent")[1].high or 0) - 1
    pruned = parted.prune(through)
    assert sum(each.dropped for each in pruned.journals) >= 4
    assert parted.verify().is_clean
    for _, read in READERS.values():
        if read is not READERS["effects"][1]:
            read(parted, dj.Window(through + 1))


def test_a_part_that_is_split_is_not_missed(parted: dj.Journal) -> None:
    before = {
        reader: read(parted, dj.Window(1)) for reader, (_, read) in READERS.items() if reader in ("changes", "feed", "deletes")
    }
    assert parted.partitions.split(versions=3)
    assert parted.verify().is_clean
    assert {reader: READERS[reader][1](parted, dj.Window(1)) for reader in before} == before


def test_a_program_that_was_there_before_the_option_looks_for_parts(journal: dj.Journal, url: str, connections) -> None:
    write(journal, document(STUDENT, 1))
    assert len(list(journal.changes(STUDENT))) == 1
    migrate.upgrade(url, options=["partitions"])
    commit(connections[0], "ALTER TABLE dms.DocumentChangeEvent DETACH PARTITION dms.documentchangeevent_default")
    with pytest.raises(dj.UnsupportedCapability, match="documentchangeevent_default of DocumentChangeEvent is gone"):
        list(journal.changes(STUDENT))
