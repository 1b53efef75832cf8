"""Densities: where in a window its events lie, read from the journals at a cost that the window does not change.

What is counted is what dms.ResourceChange looks at: an event of a document counts 1, an identity event 1 and the documents that
refer to the renamed one. A journal tells how many events a range of versions holds only by reading them. So a range is read up to
some events; where there are more, it is taken for as dense on as it was so far, and what weighs most of the rest is cut into
smaller ranges and looked at again. Where there are few events, all of them are counted. Source: docs/how-it-works.md, Planning.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import NamedTuple

from dmsjournal.database.session import Session

CROWD = 100_000  # documents at one version: where there are more, they are counted on their own
CROWD_STEP = 1_000  # documents between two marks of a crowd

_LOOKS = (1_000, 2_000)  # ranges of each look after the first, all together
_SAMPLE = 32  # thousands of events that a look reads at most
_RESOURCES = 20  # each has an index to seek in for each range: of more there are fewer ranges


class Mass(NamedTuple):
    """Events that lie evenly between two versions, both inclusive."""

    first: int
    last: int
    weight: float


class Range(NamedTuple):
    """Versions, both inclusive."""

    first: int
    last: int


class Group(NamedTuple):
    """Some events of a range that follow one another. `weight`: of all of them; `heaviest`: of one."""

    range: int
    first: int
    last: int
    events: int
    weight: int
    heaviest: int


# Some documents at a version, by id: (the number of it among them, from 1; its id). The last one is always there.
Marks = Sequence[tuple[int, int]]

# Ranges, and the most events to read of each: its first events, in order, in groups.
Reader = Callable[[Sequence[Range], int], Sequence[Group]]


@dataclass(frozen=True, slots=True)
class Density:
    """Masses that do not overlap, in order; `is_sampled` where not every event was counted. `crowds`: the marks of versions with
    many documents, one each CROWD_STEP."""

    masses: Sequence[Mass]
    crowds: Mapping[int, Marks]
    is_sampled: bool


def density(session: Session, resource_key_ids: Sequence[int], is_everything: bool, window: Range) -> Density:
    """Where the events of some resources, or of all, lie in a window."""
    which = "" if is_everything else "_of"
    wanted = {} if is_everything else {"resource_key_ids": list(resource_key_ids)}

    def events(ranges: Sequence[Range], most: int) -> Sequence[Group]:
        step = 1 if len(ranges) == 1 else most  # the beginning of a range is taken for even
        rows = session.execute(f"read/plan_events{which}", ranges=_listed(ranges), most_events=most, step=step, **wanted)
        return [Group(row.range, row.first_version, row.last_version, row.events, row.events, 1) for row in rows]

    def identities(ranges: Sequence[Range], most: int) -> Sequence[Group]:
        rows = session.execute(
            f"read/plan_identities{which}", ranges=_listed(ranges), most_events=most, most_parents=CROWD, **wanted
        )
        return [Group(row.range, row.change_version, row.change_version, 1, row.weight, row.weight) for row in rows]

    scale = 1.0 if is_everything else scale_of(len(resource_key_ids))
    own = explored(events, window, counted=10_000, sample=_SAMPLE, scale=scale)
    renames = explored(identities, window, counted=5_000, sample=8, scale=scale)  # each costs a count of its parents
    crowds = {version: marks(session, resource_key_ids, version, CROWD_STEP) for version in own.crowds | renames.crowds}
    heavy = [Mass(version, version, float(found[-1][0])) for version, found in crowds.items()]
    masses = laid_together([*own.masses, *own.rests], [*renames.masses, *renames.rests], heavy)
    return Density(masses, crowds, bool(own.rests or renames.rests))


def scale_of(resources: int) -> float:
    """By what a look has fewer ranges, as each of them costs a seek of every resource."""
    return min(1.0, _RESOURCES / resources)


def _listed(ranges: Sequence[Range]) -> list[dict[str, int]]:
    return [{"range": number, "first": first, "last": last} for number, (first, last) in enumerate(ranges)]


def marks(session: Session, resource_key_ids: Sequence[int], version: int, step: int) -> Marks:
    """Each step-th document at a version, and the last; (0, 0) where there is none."""
    found = session.execute("read/plan_version", resource_key_ids=list(resource_key_ids), version=version, step=step)
    return [(row.number, row.document_id) for row in found] or [(0, 0)]


class Explored(NamedTuple):
    """`masses`: what was counted; `rests`: what was not, as heavy as is expected; `crowds`: versions too heavy to count."""

    masses: list[Mass]
    rests: list[Mass]
    crowds: set[int]


def explored(read: Reader, window: Range, counted: int, sample: int, scale: float = 1.0) -> Explored:
    """Reads the first `counted` events; then the first ones of ranges of the rest, so that each look reads `sample` times a
    thousand at most, or `scale` times that, by so many fewer ranges: what few events of a range tell is further off."""
    found = Explored([], [], set())
    _look(read, [window], counted, found)
    for most, many in [(sample * 1_000 // look, round(look * scale)) for look in _LOOKS]:
        shares = _shares(found)
        ranges = [piece for rest, share in shares if (number := round(many * share)) for piece in _cut(rest, number)]
        if not ranges:
            break
        found.rests[:] = [rest for rest, share in shares if not round(many * share)]
        _look(read, ranges, max(2, most), found)
    return found


def _shares(found: Explored) -> list[tuple[Mass, float]]:
    """The rests, each with its share of the next look, in all 1.0.

    One half goes by how many events may lie there otherwise than is thought: those that are expected, and those that there would
    be more or less, were all of it as dense as what follows. So the ends of a dense stretch are found. The other half goes by the
    number of versions, where what neither end tells of can hide.
    """
    known = sorted([*found.masses, *found.rests])
    following = {before: after for before, after in pairwise(known)}
    doubts = []
    for rest in found.rests:
        after = following.get(rest)
        density = after.weight / (after.last - rest.last) if after else 0.0
        width = rest.last - rest.first + 1
        doubts.append(rest.weight + abs(rest.weight - density * width))
    widths = [rest.last - rest.first + 1 for rest in found.rests]
    return [
        (rest, doubt / sum(doubts) / 2 + width / sum(widths) / 2)
        for rest, doubt, width in zip(found.rests, doubts, widths, strict=True)
    ]


def _cut(rest: Mass, number: int) -> Iterator[Range]:
    """So many ranges, as equal as whole versions allow."""
    width = rest.last - rest.first + 1
    number = min(number, width)
    for piece in range(number):
        yield Range(rest.first + width * piece // number, rest.first + width * (piece + 1) // number - 1)


def _look(read: Reader, ranges: Sequence[Range], most: int, found: Explored) -> None:
    """Adds what can be read, and the rests of the ranges that hold more."""
    for number, groups in groupby(read(ranges, most), key=lambda group: group.range):
        _add(ranges[number], list(groups), most, found)


def _add(range: Range, groups: list[Group], most: int, found: Explored) -> None:
    reached = range.last + 1
    if sum(group.events for group in groups) == most:
        reached = groups[-1].last  # at that version there may be more
    for first, last, events, weight, heaviest in (group[1:] for group in groups):
        if heaviest > CROWD:
            found.crowds.add(first)
        elif last < reached:
            found.masses.append(Mass(first, last, float(weight)))
        elif first < reached:
            found.masses.append(Mass(first, reached - 1, weight * (events - 1) / events))
    if reached == groups[0].first:  # all of them at one version: it says nothing of the others
        found.crowds.add(reached)
        if reached < range.last:
            found.rests.append(Mass(reached + 1, range.last, float(most)))
    elif reached <= range.last:
        found.rests.append(Mass(reached, range.last, _expected(range, groups, range.last - reached + 1)))


def _expected(range: Range, groups: Sequence[Group], width: int) -> float:
    """The weight of so many versions behind these events, were they as dense. The heaviest event says nothing of others."""
    events = sum(group.events for group in groups)
    heaviest = max(group.heaviest for group in groups)
    usual = (sum(group.weight for group in groups) - heaviest) / (events - 1) if events > 1 else heaviest
    return usual * max(1, events - 1) * width / max(1, groups[-1].last - range.first)


def laid_together(*layers: Sequence[Mass]) -> list[Mass]:
    """The masses of all layers, in order. Those of a layer do not overlap; where two layers do, masses are cut."""
    together: list[Mass] = []
    for over in _overlapping(sorted(mass for layer in layers for mass in layer)):
        together += over if len(over) == 1 else _cut_at_edges(over)
    return together


def _overlapping(masses: Sequence[Mass]) -> Iterator[list[Mass]]:
    """The masses, in order, those together that overlap: mostly one."""
    over: list[Mass] = []
    last = 0
    for mass in masses:
        if over and mass.first > last:
            yield over
            over = []
        over.append(mass)
        last = mass.last if len(over) == 1 else max(last, mass.last)
    if over:
        yield over


def _cut_at_edges(masses: Sequence[Mass]) -> Iterator[Mass]:
    """Masses that overlap, in order, as masses that do not."""
    edges = sorted({edge for mass in masses for edge in (mass.first, mass.last + 1)})
    here: list[Mass] = []  # of each layer one at most
    begun = 0
    for first, after in pairwise(edges):
        here = [mass for mass in here if mass.last >= first]
        while begun < len(masses) and masses[begun].first == first:
            here.append(masses[begun])
            begun += 1
        if here:
            weight = sum(mass.weight * (after - first) / (mass.last - mass.first + 1) for mass in here)
            yield Mass(first, after - 1, weight)
