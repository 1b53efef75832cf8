"""Physical partitions: into which parts a provider cuts its documents, and which part goes on where another one ended.

A database cuts by a hash of DocumentId into ranges, one a bucket. Generations of buckets follow one another: each covers the
versions above `begins_after` up to `ends_at`, inclusive. The hash is computed alike in Python and in both engines' SQL
(feed_page.sql).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from dmsjournal.feed.scopes import PhysicalPartition

MAX_BUCKETS = 1024

_PRIME = 2**31 - 1


def hash_of(document_id: int) -> int:
    """A number from 0 to 2^31 - 2 for a 64-bit id, spread evenly also for ids in a row, in whole numbers of 64 bits."""
    low = document_id & 4294967295
    mixed = (low * 1327217885 + ((document_id - low) // 4294967296 + 2147483648) * 805306457) % _PRIME
    return (mixed ^ (mixed // 32768)) * 1103515245 % _PRIME


def bucket_of(document_id: int, bucket_count: int) -> int:
    """The bucket of a document, from 0 on: the hash's range is cut into `bucket_count` equal parts."""
    return hash_of(document_id) * bucket_count // _PRIME


@dataclass(frozen=True, slots=True)
class FeedPartition:
    """A physical partition, and its place among the others.

    It covers versions above `begins_after`, exclusive, up to `ends_at`, inclusive; None while it is the present one. Read it after
    all of its `parents` were read to their ends: a document's events may be in one of them. `children` go on after `ends_at`.
    Portability: None for both where the provider does not tell.
    """

    scope: PhysicalPartition
    parents: Sequence[str]
    children: Sequence[str]
    begins_after: int | None
    ends_at: int | None

    @property
    def id(self) -> str:
        """What the scope names it by."""
        return self.scope.id


def readable(partitions: Collection[FeedPartition], finished: Collection[str]) -> list[FeedPartition]:
    """The partitions that may be read now: not `finished`, which are ids read to their ends, and all listed parents are."""
    unfinished = {partition.id for partition in partitions} - set(finished)
    return [p for p in partitions if p.id in unfinished and not unfinished.intersection(p.parents)]


@dataclass(frozen=True, slots=True)
class Generation:
    """One row of dms.FeedGeneration, and where the next one begins."""

    number: int
    bucket_count: int
    begins_after: int
    ends_at: int | None

    def id_of(self, bucket: int) -> str:
        """What a bucket's partition is named by."""
        return f"{self.number}-{bucket}"

    def overlapping(self, bucket: int, other: Generation) -> list[str]:
        """The other generation's partitions that share documents with a bucket of this one."""
        first = bucket * other.bucket_count // self.bucket_count
        last = ((bucket + 1) * other.bucket_count - 1) // self.bucket_count
        return [other.id_of(b) for b in range(first, last + 1)]


def partition_of(generations: Sequence[Generation], index: int, bucket: int, first: int = 0) -> FeedPartition:
    """A bucket of the generation at an index, oldest first, as a partition; parents are named from the index `first` on."""
    mine = generations[index]
    parents = mine.overlapping(bucket, generations[index - 1]) if index > first else []
    children = mine.overlapping(bucket, generations[index + 1]) if index + 1 < len(generations) else []
    return FeedPartition(PhysicalPartition(mine.id_of(bucket)), parents, children, mine.begins_after, mine.ends_at)


def kept_partitions(generations: Sequence[Generation], floor: int) -> list[FeedPartition]:
    """The partitions that still have versions above the floor, oldest first."""
    first = next(i for i, g in enumerate(generations) if g.ends_at is None or g.ends_at > floor)
    return [
        partition_of(generations, index, bucket, first)
        for index in range(first, len(generations))
        for bucket in range(generations[index].bucket_count)
    ]
