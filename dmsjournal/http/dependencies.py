"""The order of resources: what is referred to comes before what refers to it. As the Ed-Fi API tells it, JSON or GraphML."""

from __future__ import annotations

from collections.abc import Mapping
from xml.sax.saxutils import quoteattr

from dmsjournal.model.resources import ResourceKey

Dependencies = Mapping[ResourceKey, frozenset[ResourceKey]]


def orders(dependencies: Dependencies) -> dict[ResourceKey, int]:
    """The place of each resource, from 1: above those of all that it refers to.

    Of resources that refer to each other in a circle, the one comes first that refers to the fewest of those without a place.
    """
    waiting = {resource: set(children) - {resource} for resource, children in dependencies.items()}
    found: dict[ResourceKey, int] = {}
    while waiting:
        ready = [resource for resource, children in waiting.items() if not children & waiting.keys()]
        ready = ready or [min(waiting, key=lambda resource: (len(waiting[resource] & waiting.keys()), resource))]
        place = max(found.values(), default=0) + 1
        found |= dict.fromkeys(sorted(ready), place)
        for resource in ready:
            del waiting[resource]
    return found


def graph(dependencies: Dependencies, paths: Mapping[ResourceKey, str]) -> str:
    """The same as GraphML: an edge leads from what is referred to. Of a circle the edge is left out that closes it."""
    places = orders(dependencies)
    nodes = [f"<node id={quoteattr(paths[resource])} />" for resource in places]
    edges = [
        f"<edge source={quoteattr(paths[child])} target={quoteattr(paths[parent])} />"
        for parent in places
        for child in sorted(dependencies[parent])
        if places[child] < places[parent]
    ]
    lines = ["<?xml version='1.0' encoding='utf-8'?>", '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">']
    return "\n".join([*lines, '<graph id="Dependencies" edgedefault="directed">', *nodes, *edges, "</graph>", "</graphml>", ""])
