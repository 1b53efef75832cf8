"""What the journal must say, by DESIGN's definitions alone: documents, edges and stamps in plain Python.

The model draws no stamps: it is told which ones the database gave, and says whether they may be.
"""

import base64
import hashlib
import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

Key = str | None
Edge = tuple[int, int]  # parent, child


@dataclass(frozen=True)
class Doc:
    resource: int
    uuid: str
    content: int
    identity: int
    key: Key

    @property
    def local(self) -> int:
        return max(self.content, self.identity)


@dataclass(frozen=True)
class Tombstone:
    version: int
    document_id: int
    doc: Doc


@dataclass(frozen=True)
class KeyEvent:
    version: int
    document_id: int
    uuid: str
    resource: int
    old: Key
    new: Key


@dataclass(frozen=True, order=True)
class Event:
    """One change of one document, as the feed tells it."""

    version: int
    document_id: int
    type: str
    uuid: str
    resource: int
    key: Key


@dataclass
class State:
    docs: dict[int, Doc] = field(default_factory=dict)
    edges: frozenset[Edge] = frozenset()
    tombstones: tuple[Tombstone, ...] = ()
    key_events: tuple[KeyEvent, ...] = ()
    events: tuple[Event, ...] = ()

    def copy(self) -> "State":
        return State(dict(self.docs), self.edges, self.tombstones, self.key_events, self.events)

    def children(self, parent: int) -> list[int]:
        return sorted(c for p, c in self.edges if p == parent)

    def is_referenced(self, document_id: int) -> bool:
        return any(c == document_id and p != document_id for p, c in self.edges)

    def derived(self, document_id: int) -> int:
        return max(self.docs[document_id].local, *(self.docs[c].identity for c in self.children(document_id)), 0)

    def etag(self, document_id: int) -> str:
        numbers = [self.docs[document_id].content, self.docs[document_id].identity]
        for child in self.children(document_id):
            numbers += [child, self.docs[child].identity]
        return base64.b64encode(hashlib.sha256(struct.pack(f">{len(numbers)}q", *numbers)).digest()).decode()

    def changes(self, resource: int, first: int, last: int) -> list[tuple[int, int]]:
        """(ChangeVersion, DocumentId) of the resource's live documents whose derived version lies in the window, in order."""
        found = ((self.derived(i), i) for i, doc in self.docs.items() if doc.resource == resource)
        return sorted((version, i) for version, i in found if first <= version <= last)

    def deletes(self, resource: int, first: int, last: int) -> list[tuple[int, int, str, Key]]:
        return sorted(
            (t.version, t.document_id, t.doc.uuid, t.doc.key)
            for t in self.tombstones
            if t.doc.resource == resource and first <= t.version <= last
        )

    def feed(self, first: int, last: int) -> list[Event]:
        """What happened in the window, in (ChangeVersion, DocumentId) order: each stamp once, and each tombstone."""
        stones = (Event(t.version, t.document_id, "DELETE", t.doc.uuid, t.doc.resource, t.doc.key) for t in self.tombstones)
        return sorted(event for event in (*self.events, *stones) if first <= event.version <= last)

    def key_changes(self, resource: int, first: int, last: int) -> list[tuple[int, int, Key, Key]]:
        """A document's key before its first key change in the window and after its last, where they differ."""
        by_lifetime: dict[str, list[KeyEvent]] = {}
        for event in sorted(self.key_events, key=lambda event: event.version):
            if event.resource == resource and first <= event.version <= last:
                by_lifetime.setdefault(event.uuid, []).append(event)
        ends = ((events[0], events[-1]) for events in by_lifetime.values())
        return sorted((end.version, end.document_id, start.old, end.new) for start, end in ends if start.old != end.new)


def stamped_by_edges(before: State, own: Iterable[int], changed: Iterable[Edge]) -> set[int]:
    """The parents that edges which come or go must stamp: all but those that this transaction has stamped above their children."""
    return {
        parent
        for parent, child in changed
        if parent in before.docs and (parent not in own or before.docs[parent].local < before.docs[child].identity)
    }


def check_statement(before: State, after: State, content: set[int], identity: set[int], newest: int) -> Iterator[int]:
    """Checks the stamps that a statement gave; yields the documents that it stamped. `newest`: the newest stamp before it."""
    given: list[int] = []
    for i in sorted(content | identity | before.docs.keys() | after.docs.keys()):
        if i not in after.docs:
            continue  # deleted: its tombstone is checked where it is read
        doc = after.docs[i]
        if i not in before.docs:
            assert doc.content == doc.identity, "a new document has one stamp for both"
        else:
            old = before.docs[i]
            assert (doc.content != old.content) == (i in content), f"document {i}: content stamp {old.content} to {doc.content}"
            assert (doc.identity != old.identity) == (i in identity), f"document {i}: identity {old.identity} to {doc.identity}"
            if i in content and i in identity:
                assert doc.content == doc.identity, "one statement, one stamp"
            assert (doc.resource, doc.uuid) == (old.resource, old.uuid)
        if before.docs.get(i) is None or before.docs[i].local != doc.local:
            given.append(doc.local)
            yield i
    assert len(set(given)) == len(given), "two documents share a stamp"
    assert all(stamp > newest for stamp in given), f"{given} are not above {newest}"


def difference(before: State, after: State) -> tuple[Mapping[int, Doc | None], frozenset[Edge], frozenset[Edge]]:
    docs: dict[int, Doc | None] = {i: doc for i, doc in after.docs.items() if before.docs.get(i) != doc}
    docs |= {i: None for i in before.docs.keys() - after.docs.keys()}
    return docs, after.edges - before.edges, before.edges - after.edges
