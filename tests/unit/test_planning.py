"""Plans without a database: an invented journal is explored and cut, and each of its events must lie in just one part."""

import bisect
import random
from collections import Counter
from collections.abc import Sequence
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dmsjournal.model.windows import MAX_VERSION
from dmsjournal.read import plan
from dmsjournal.read.density import CROWD, Group, Mass, Range, explored, laid_together, scale_of
from dmsjournal.read.plan import SubWindow

Event = tuple[int, int]  # version, weight


class Journal:
    """Events by version; counts what is read of them."""

    def __init__(self, events: Sequence[Event], step: int = 64) -> None:
        self.step = step
        self.events = sorted(events)
        self.read_events = 0

    def read(self, ranges: Sequence[Range], most: int) -> list[Group]:
        found = []
        for number, (first, last) in enumerate(ranges):
            start = bisect.bisect_left(self.events, (first, 0))
            read = [event for event in self.events[start : start + most] if event[0] <= last]
            self.read_events += len(read)
            step = 1 if len(ranges) == 1 else self.step
            for at in range(0, len(read), step):
                part = read[at : at + step]
                weights = [min(weight, CROWD + 1) for _, weight in part]
                found.append(Group(number, part[0][0], part[-1][0], len(part), sum(weights), max(weights)))
        return found


def cut(journal: Journal, window: Range, number: int, scale: float = 1.0) -> tuple[list[SubWindow], bool]:
    """The parts, and whether they were estimated. A version's documents have the ids from 1."""
    weights = Counter[int]()
    for version, weight in journal.events:
        weights[version] += weight
    found = explored(journal.read, window, counted=10_000, sample=32, scale=scale)
    crowds = [Mass(version, version, float(weights[version])) for version in found.crowds]
    masses = laid_together(found.masses, found.rests, crowds)

    def marks(version: int, step: int) -> list[tuple[int, int]]:
        last = weights[version]
        return [(mark, mark) for mark in [*range(step, last, step), last]]

    total = sum(mass.weight for mass in masses)
    cuts = plan._cuts(masses, total / number, number, marks)
    return list(plan._parts(cuts, *window, total)), bool(found.rests)


def held(part: SubWindow, version: int, document_id: int) -> bool:
    return (
        part.first <= version <= part.last
        and (version > part.first or part.after_id is None or document_id > part.after_id)
        and (version < part.last or part.through_id is None or document_id <= part.through_id)
    )


def documents(events: Sequence[Event], part: SubWindow) -> int:
    """How many documents of the events, which are sorted, lie in a part."""
    found = 0
    for at in range(bisect.bisect_left(events, (part.first, 0)), bisect.bisect_left(events, (part.last + 1, 0))):
        version, weight = events[at]
        low = part.after_id or 0 if version == part.first else 0
        high = weight if version < part.last or part.through_id is None else min(weight, part.through_id)
        found += max(0, high - low)
    return found


versions = st.one_of(st.integers(0, 200), st.integers(MAX_VERSION - 200, MAX_VERSION), st.integers(0, MAX_VERSION))


@settings(max_examples=300)
@given(
    st.dictionaries(versions, st.integers(1, 400), max_size=60),
    st.tuples(versions, versions),
    st.integers(1, 40),
)
def test_each_document_lies_in_one_part_and_few_events_are_counted(
    weights: dict[int, int], ends: tuple[int, int], number: int
) -> None:
    window = Range(min(ends), max(ends))
    events = sorted((version, weight) for version, weight in weights.items() if window.first <= version <= window.last)
    parts, is_sampled = cut(Journal(events), window, number)
    assert not is_sampled
    assert len(parts) <= number
    assert (parts[0].first, parts[0].after_id, parts[-1].last, parts[-1].through_id) == (window.first, None, window.last, None)
    for version, weight in events:
        for document_id in {1, weight // 2 + 1, weight}:
            assert sum(held(part, version, document_id) for part in parts) == 1
    counted = [documents(events, part) for part in parts]
    assert counted == [part.events for part in parts]
    assert sum(counted) == sum(weights[version] for version, _ in events)


@settings(max_examples=200)
@given(st.dictionaries(st.integers(0, 2000), st.integers(1, 400), min_size=1, max_size=300), st.integers(1, 20))
def test_parts_hold_equal_numbers_of_events(weights: dict[int, int], number: int) -> None:
    events = sorted(weights.items())
    parts, _ = cut(Journal(events), Range(0, 2000), number)
    mean = sum(weights.values()) / number
    # a mark is a 25th of a part, or a document; two ends, and what stays whole at each of them
    assert max(part.events for part in parts) <= mean * (1 + plan._GRAIN + 0.08) + 2


def skewed(total: int, at: float, bursts: int = 1) -> list[Event]:
    """Nine tenths of the events in a hundredth of the versions: bursts, from such a share of the versions on; the rest anywhere."""
    dense, span = total * 9 // 10 // bursts, total * 90
    between = span // bursts
    starts = [int(span * at) % between + between * burst for burst in range(bursts)]
    sparse = random.Random(1).sample(range(span), total // 10)
    return [(version, 1) for version in sorted({*sparse}.union(*(range(start, start + dense) for start in starts)))]


SHAPES = {
    "even": lambda: [(version, 1) for version in range(300_000)],
    "every tenth": lambda: [(version, 1) for version in range(0, 3_000_000, 10)],
    "skewed": lambda: skewed(400_000, 1 / 3),
    "skewed behind a range's beginning": lambda: skewed(800_000, 0.3),
    "skewed nine times": lambda: skewed(800_000, 0.0031, bursts=9),
    "bursts": lambda: [(version, 1) for burst in range(80) for version in range(burst * 9_000, burst * 9_000 + 5_000)],
    "at the end": lambda: [(MAX_VERSION - 300_000 + version, 1) for version in range(300_000)],
    "in groups": lambda: [(at + n, 1) for at in range(0, 600_000, 20) for n in (0, 9, 10, 11, 12, 13, 14, 15, 16, 17)],
    "at random": lambda: [(version, 1) for version in random.Random(2).sample(range(9_000_000), 300_000)],
    "one version": lambda: [(7, 1)] * 10 + [(500, 1_000_000), (900, 1)],
}


@cache
def shape_of(name: str) -> list[Event]:
    return SHAPES[name]()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("number", [2, pytest.param(7, marks=pytest.mark.long), 32])
def test_a_large_journal_is_read_in_parts_and_cut_equally_all_the_same(shape: str, number: int) -> None:
    journal = Journal(shape_of(shape))
    window = Range(0, max(version for version, _ in journal.events))
    parts, _ = cut(journal, window, number)
    counted = [documents(journal.events, part) for part in parts]
    assert sum(counted) == sum(weight for _, weight in journal.events)
    assert len(parts) == number
    assert max(counted) * number / sum(counted) <= 1.2
    assert journal.read_events <= 10_000 + 2 * 33_000


def test_of_many_resources_fewer_ranges_are_looked_at() -> None:
    """Each range costs a seek of every resource."""
    journal = Journal(shape_of("skewed"))
    parts, _ = cut(journal, Range(0, journal.events[-1][0]), 32, scale=scale_of(60))
    counted = [documents(journal.events, part) for part in parts]
    assert max(counted) * 32 / sum(counted) <= 1.2
    assert journal.read_events <= 10_000 + 2 * 11_000


def test_events_that_share_a_version_are_a_crowd() -> None:
    journal = Journal([(5, 1)] * 60_000 + [(9, 1)] * 60_000 + [(version, 1) for version in range(10, 70_000)])
    found = explored(journal.read, Range(0, 70_000), counted=10_000, sample=32)
    assert found.crowds == {5, 9}
    assert sum(mass.weight for mass in (*found.masses, *found.rests)) == pytest.approx(69_990, rel=0.1)


def test_layers_are_laid_together() -> None:
    own = [Mass(3, 3, 2.0), Mass(10, 19, 100.0)]
    renames = [Mass(12, 12, 5.0), Mass(15, 24, 10.0)]
    assert laid_together(own, renames, [Mass(40, 40, 7.0)]) == [
        Mass(3, 3, 2.0),
        Mass(10, 11, 20.0),
        Mass(12, 12, 15.0),
        Mass(13, 14, 20.0),
        Mass(15, 19, 55.0),
        Mass(20, 24, 5.0),
        Mass(40, 40, 7.0),
    ]
