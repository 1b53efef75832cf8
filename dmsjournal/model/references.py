"""References inside bodies: where a body shows another document's key, and the body with the key that this has now.

A body of the Ed-Fi API has a reference as an object with the key's values under their names (`studentReference`), or under names
with a role before them (`programEducationOrganizationId`), or a descriptor as its URI. The old values tell which of them holds the
reference.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dmsjournal.model.documents import same_value

_KeyValues = Mapping[str, Any]
_Node = dict[str, Any] | list[Any]
_Place = tuple[_Node, str | int, Any]  # where a value is, and the one that it becomes


@dataclass(frozen=True, slots=True)
class Renamed:
    """A document that a body refers to, with the key that the body may show still, None where that is not known any more."""

    resource_name: str
    old: _KeyValues | None
    new: _KeyValues


def with_new_keys(body: _KeyValues, renamed: Sequence[Renamed]) -> _KeyValues:
    """The body with the new keys where it shows the old ones; the same object where it shows none.

    An old key that is not known is looked for by its names alone, and followed where there is but one reference of such names.
    """
    if not renamed:
        return body
    copy, nodes = _copied(body)
    places = [
        place for each in renamed for place in _places(nodes, each)
    ]  # all of them before any is changed: two may have swapped
    for node, at, value in places:
        node[at] = value  # type: ignore[index]
    return copy if places else body


def role_names(names: Sequence[str], name: str) -> list[str]:
    """Those of some names that are a name, or else that have it with a role before it."""
    role = name[:1].upper() + name[1:]
    return [own for own in names if own == name] or [own for own in names if own.endswith(role)]


def _copied(body: _KeyValues) -> tuple[dict[str, Any], list[tuple[_Node, str]]]:
    """A copy, of objects and lists alone, and these, each with the name that it is under. As deep as a body may be."""
    copy: dict[str, Any] = {}
    nodes: list[tuple[_Node, str]] = [(copy, "")]
    sources: list[Any] = [body]
    for source, (node, under) in zip(sources, nodes, strict=False):  # both grow meanwhile
        items: Iterable[tuple[Any, Any]] = source.items() if isinstance(node, dict) else enumerate(source)
        for at, item in items:
            inner: Any = {} if isinstance(item, Mapping) else [] if isinstance(item, list | tuple) else item
            if isinstance(node, dict):
                node[at] = inner
            else:
                node.append(inner)
            if inner is not item:
                sources.append(item)
                nodes.append((inner, at if isinstance(at, str) else under))
    return copy, nodes


def _places(nodes: Sequence[tuple[_Node, str]], renamed: Renamed) -> list[_Place]:
    objects = [(node, name) for node, name in nodes if isinstance(node, dict)]
    if renamed.old is None:
        return _by_names(objects, renamed)
    found = [_shown(node, renamed.old, renamed.new, by_value=False) for node, _ in objects]
    found += [_uris(nodes, renamed.old, renamed.new)] if renamed.resource_name.endswith("Descriptor") else []
    if not any(found):  # an id under a general name: educationOrganizationReference of a school
        others = [_shown(node, renamed.old, renamed.new, by_value=True) for node, name in objects if name.endswith("Reference")]
        found = [places for places in others if places]
        found = found if len(found) == 1 else []
    return [place for places in found for place in places]


def _shown(node: dict[str, Any], old: _KeyValues, new: _KeyValues, *, by_value: bool) -> list[_Place]:
    """What becomes of an object that shows the whole of an old key; nothing for another one."""
    taken: dict[str, str] = {}
    for name, value in old.items():
        equal = [own for own in node if not isinstance(node[own], Mapping | list) and same_value(node[own], value)]
        candidates = role_names(equal, name) or (equal if by_value else [])
        if len(candidates) != 1:
            return []
        taken[candidates[0]] = name
    if len(taken) < len(old):
        return []
    return [(node, own, new[name]) for own, name in taken.items() if name in new]


def _uris(nodes: Sequence[tuple[_Node, str]], old: _KeyValues, new: _KeyValues) -> list[_Place]:
    """Where a descriptor's URI is."""
    uri, now = _uri(old), _uri(new)
    if uri is None or now is None:
        return []
    return [
        (node, at, now)
        for node, _ in nodes
        for at, value in (node.items() if isinstance(node, dict) else enumerate(node))
        if isinstance(value, str) and value == uri
    ]


def _uri(key_values: _KeyValues) -> str | None:
    """A descriptor's URI: the only value of its key, or its namespace and code."""
    if set(key_values) == {"namespace", "codeValue"}:
        return f"{key_values['namespace']}#{key_values['codeValue']}"
    [*values] = key_values.values()
    return values[0] if len(values) == 1 and isinstance(values[0], str) else None


def _by_names(objects: Sequence[tuple[dict[str, Any], str]], renamed: Renamed) -> list[_Place]:
    """The only reference that has the names of a key."""
    if renamed.resource_name.endswith("Descriptor"):
        uri, wanted = _uri(renamed.new), renamed.resource_name[:1].lower() + renamed.resource_name[1:]
        texts: list[_Place] = [
            (node, own, uri) for node, _ in objects for own in role_names([*node], wanted) if isinstance(node[own], str)
        ]
        return texts if uri is not None and len(texts) == 1 else []
    found: list[list[_Place]] = []
    for node, under in objects:
        named = {name: role_names([*node], name) for name in renamed.new}
        if under.endswith("Reference") and all(len(own) == 1 for own in named.values()):
            found.append([(node, own, renamed.new[name]) for name, [own] in named.items()])
    return found[0] if len(found) == 1 else []
