"""Plans: a window of changes cut into parts that hold about equal numbers of events, to be read by as many tasks.

A part is a range of positions, (ChangeVersion, DocumentId), as a page's cursors are. Equal strides of versions would not do: a
bulk load is most of a journal's events in few of its versions, and a rename can be a million changes at one version, which only
DocumentId parts. Source: docs/how-it-works.md, Planning.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, pairwise
from typing import NamedTuple

from dmsjournal.database.session import Session
from dmsjournal.errors import InvalidRequest
from dmsjournal.model.resources import ResourceKey
from dmsjournal.model.windows import HIGHEST_ID, LOWEST_ID, MAX_VERSION, checked_size
from dmsjournal.read.density import CROWD_STEP, Marks, Mass, Range, density, marks

EVENTS_PER_PART = 250_000  # where nothing else is asked for
MOST_PARTS = 10_000

_GRAIN = 0.2  # of a part: versions that are lighter stay whole, and the parts differ by as much at most


@dataclass(frozen=True, slots=True)
class SubWindow:
    """A part of a plan: the changes from `first` to `last`, versions and both inclusive, but for what its neighbours hold of
    these two.

    `after_id`: at `first` only the documents above this id (exclusive); `through_id`: at `last` only those up to this id
    (inclusive); None: all of them. `events`: about how many there are to look at; those that a later change has overtaken give no
    row.
    """

    first: int
    last: int
    events: int
    after_id: int | None = None
    through_id: int | None = None

    def pieces(self) -> list[Piece]:
        """The part as ranges of an index: versions without bounds of ids, or documents of one version. One, or up to three."""
        first, last, pieces, ends = self.first, self.last, list[Piece](), list[Piece]()
        if first == last and (self.after_id is not None or self.through_id is not None):
            return [Piece(first, last, self.after_id, self.through_id)]
        if self.after_id is not None:
            pieces, first = [Piece(first, first, self.after_id)], first + 1
        if self.through_id is not None:
            ends, last = [Piece(last, last, None, self.through_id)], last - 1
        return [*pieces, *([Piece(first, last)] if first <= last else []), *ends]


class Piece(NamedTuple):
    """Changes from `first` to `last`, versions and both inclusive; where an id bounds them, they are those of one version.

    `after_id` is exclusive, `through_id` inclusive; None: no bound.
    """

    first: int
    last: int
    after_id: int | None = None
    through_id: int | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """The changes of some resources between two versions, both inclusive, in parts that follow one another: each lies in just one.

    `resources`: with their ids; all of the database's where `is_everything`. There is no part where `first` is above `last`,
    which is at most `horizon`, that of the time. `is_sampled`: the events are estimated, else counted.
    """

    resources: Mapping[ResourceKey, int]
    is_everything: bool
    first: int
    last: int
    horizon: int
    parts: Sequence[SubWindow]
    is_sampled: bool

    @property
    def events(self) -> int:
        """About how many events there are to look at."""
        return sum(part.events for part in self.parts)

    @property
    def imbalance(self) -> float:
        """The largest part by the mean of all: 1.0 where they are equal."""
        return _imbalance([part.events for part in self.parts])


@dataclass(frozen=True, slots=True)
class DocumentRange:
    """A part of a snapshot's plan: the documents above an id (exclusive) up to another (inclusive); None: no bound."""

    after_id: int | None
    through_id: int | None
    documents: int


@dataclass(frozen=True, slots=True)
class SnapshotPlan:
    """All live documents of some resources, in parts by id: each lies in just one, also one that is written meanwhile.

    `resources`, `is_everything`, `horizon`: as in Plan. `last`: the horizon, too.
    """

    resources: Mapping[ResourceKey, int]
    is_everything: bool
    horizon: int
    parts: Sequence[DocumentRange]

    @property
    def first(self) -> int:
        """The lowest version that a document can have."""
        return 0

    @property
    def last(self) -> int:
        """The last version that what is read covers, inclusive: a window from the next one goes on."""
        return self.horizon

    @property
    def documents(self) -> int:
        """How many documents there are."""
        return sum(part.documents for part in self.parts)

    @property
    def imbalance(self) -> float:
        """The largest part by the mean of all: 1.0 where they are equal."""
        return _imbalance([part.documents for part in self.parts])


def _imbalance(sizes: Sequence[int]) -> float:
    return max(sizes) * len(sizes) / sum(sizes) if sum(sizes) else 1.0


class _Cut(NamedTuple):
    """Between two parts: behind the documents up to an id (inclusive; None: all) at a version. `before`: the weight in front of
    it."""

    version: int
    through_id: int | None
    before: float


# The marks of a version, one about so many documents or fewer.
_MarksOf = Callable[[int, int], Marks]


def check_sizes(parts: object, parameter: str, size: object) -> None:
    """Raises InvalidRequest where both are given, or one makes no sense."""
    if parts is not None and size is not None:
        raise InvalidRequest("parts", parts, f"give either `parts` or {parameter}", others=[parameter])
    if parts is not None:
        checked_size("parts", parts, MOST_PARTS, "parts")
    if size is not None:
        checked_size(parameter, size, MAX_VERSION)


def plan_changes(
    session: Session,
    resources: Mapping[ResourceKey, int],
    is_everything: bool,
    first: int,
    last: int,
    horizon: int,
    events_per_part: int | None = None,
    parts: int | None = None,
) -> Plan:
    """The plan of a window, of which `last` is at most the horizon; see Journal.plan."""
    if first > last:
        return Plan(resources, is_everything, first, last, horizon, (), is_sampled=False)
    ids = sorted(resources.values())
    found = density(session, ids, is_everything, Range(first, last))
    total = sum(mass.weight for mass in found.masses)
    number = parts or min(MOST_PARTS, max(1, round(total / (events_per_part or EVENTS_PER_PART))))

    @cache  # a version is read once for all of its cuts
    def marks_of(version: int, step: int) -> Marks:
        return found.crowds[version] if version in found.crowds and step >= CROWD_STEP else marks(session, ids, version, step)

    cuts = _cuts(found.masses, total / number, number, marks_of)
    return Plan(resources, is_everything, first, last, horizon, list(_parts(cuts, first, last, total)), found.is_sampled)


def plan_snapshot(
    session: Session,
    resources: Mapping[ResourceKey, int],
    is_everything: bool,
    horizon: int,
    documents_per_part: int | None = None,
    parts: int | None = None,
    after_id: int | None = None,
    through_id: int | None = None,
) -> SnapshotPlan:
    """The plan of resources in full, or of a range of ids (exclusive, inclusive); see Journal.plan_snapshot."""
    ids = sorted(resources.values())
    size = 1 if parts else documents_per_part or EVENTS_PER_PART
    bounds = {
        "from_id": LOWEST_ID if after_id is None else after_id + 1,
        "through_id": HIGHEST_ID if through_id is None else through_id,
    }
    ends = equal_parts(session, "read/plan_documents", ids, size, parts or MOST_PARTS, **bounds)
    between: list[int | None] = [after_id, *(end for end, _ in ends[:-1]), through_id]
    sizes = [rows for _, rows in ends] or [0]
    ranges = [DocumentRange(after, through, rows) for (after, through), rows in zip(pairwise(between), sizes, strict=True)]
    return SnapshotPlan(resources, is_everything, horizon, ranges)


def equal_parts(
    session: Session,
    statement: str,
    resource_key_ids: Sequence[int],
    rows_per_part: int,
    most_parts: int = MOST_PARTS,
    **binds: int,
) -> list[tuple[int, int]]:
    """The last position of each of the equal parts of what a statement looks at, and its rows; none where there are none."""
    found = session.execute(
        statement, resource_key_ids=list(resource_key_ids), rows_per_part=rows_per_part, most_parts=most_parts, **binds
    )
    return [(row.last, row.rows) for row in found]


def _cuts(masses: Sequence[Mass], part: float, number: int, marks: _MarksOf) -> Collection[_Cut]:
    """The cuts between so many parts of that weight; fewer where versions stay whole, and none twice."""
    ends = list(accumulate(mass.weight for mass in masses))
    cuts: dict[tuple[int, int | None], _Cut] = {}
    at = 0
    for wanted in (part * cut for cut in range(1, number) if masses):
        while ends[at] < wanted and at < len(masses) - 1:
            at += 1
        cut = _cut(masses[at], ends[at] - masses[at].weight, wanted, part, marks)
        cuts[cut.version, cut.through_id] = cut
    return cuts.values()


def _cut(mass: Mass, before: float, wanted: float, part: float, marks: _MarksOf) -> _Cut:
    """The cut in a mass, of which so much lies before it, that is next to the wanted weight."""
    share = min(1.0, (wanted - before) / mass.weight)
    if mass.first < mass.last:
        width = mass.last - mass.first + 1
        through = min(width, round(share * width))
        return _Cut(mass.first + through - 1, None, before + mass.weight * through / width)
    if mass.weight > _GRAIN * part:
        found = marks(mass.first, max(1, int(part / 25)))
        documents = found[-1][0]
        number, document_id = min(found, key=lambda mark: abs(mark[0] - share * documents))
        if number < documents:
            return _Cut(mass.first, document_id, before + mass.weight * number / documents)
    return _Cut(mass.first - (share < 0.5), None, before + (mass.weight if share >= 0.5 else 0))


def _parts(cuts: Collection[_Cut], first: int, last: int, total: float) -> Iterator[SubWindow]:
    """What lies between the cuts."""
    start, after_id, done = first, None, 0.0
    told = [cut for cut in cuts if total - cut.before >= 0.5]  # some event is behind it
    for cut in [*told, _Cut(last, None, total)]:
        if cut.before - done < 0.5 and cut.version < last:
            continue  # no event in front of it
        yield SubWindow(start, cut.version, round(cut.before - done), after_id, cut.through_id)
        start, after_id = (cut.version + 1, None) if cut.through_id is None else (cut.version, cut.through_id)
        done = cut.before
