"""How resources are spelled in paths and keys: Ed-Fi's Student is ed-fi/students, unless a map says otherwise."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping

from dmsjournal.errors import InvalidRequest, near_matches
from dmsjournal.http.problems import NOT_FOUND, Refused
from dmsjournal.model.resource_paths import path_of
from dmsjournal.model.resources import ResourceKey

_PATH = re.compile(r"[\w.~-]+/[\w.~-]+")


class ResourceNames:
    """The spelling of resources. `named` maps paths: {"ed-fi/students": "Ed-Fi/Student/5.2.0"}. Raises InvalidRequest."""

    def __init__(self, named: Mapping[str, str] | None = None) -> None:
        self._named: dict[str, ResourceKey] = {}
        for path, resource in (named or {}).items():
            if not _PATH.fullmatch(path):
                raise InvalidRequest("resources", path, "a path is project/resource, such as ed-fi/students")
            self._named[path] = ResourceKey.parse(resource)
        self._paths = {resource: path for path, resource in self._named.items()}  # others are noted when they are first asked for

    def path_of(self, resource: ResourceKey) -> str:
        """The path of a resource: project/resource."""
        path = self._paths.get(resource)
        if path is None:
            path = self._paths[resource] = path_of(resource)
        return path

    def is_among(self, resource: ResourceKey, named: Collection[str] | None) -> bool:
        """Whether a resource is one of those that are named by path or by name; None names all.

        A path that the map has is of the map's resource alone, whatever others would be called without it.
        """
        path = self.path_of(resource)
        return named is None or str(resource) in named or (path in named and self._named.get(path, resource) == resource)

    def short_of(self, resource: ResourceKey) -> str:
        """The last part of its path, which begins the keys of its documents."""
        return self.path_of(resource).rpartition("/")[2]

    def find(self, project: str, name: str, known: Collection[ResourceKey]) -> ResourceKey:
        """The resource of a path among those that the database knows; where none is spelled so, one that differs in case alone.

        Raises Refused, InvalidRequest where it may mean several.
        """
        path = f"{project}/{name}"
        found = self._spelled(path, known, str) or self._spelled(path, known, str.lower)
        if not found:
            looks_like = near_matches(path, sorted({self.path_of(resource) for resource in known}))
            raise Refused(NOT_FOUND, f"there is no resource {ascii(path)[:200]}; {looks_like}")
        if len(found) > 1:
            raise InvalidRequest("resource", path, f"it may mean {' or '.join(map(str, found))}: the service's map must say which")
        return found[0]

    def _spelled(self, path: str, known: Collection[ResourceKey], spelled: Callable[[str], str]) -> list[ResourceKey]:
        """The resources of a path: the map's, or those that are called so by rule."""
        wanted = spelled(path)
        named = {resource for of, resource in self._named.items() if spelled(of) == wanted}
        return sorted(named or {resource for resource in known if spelled(self.path_of(resource)) == wanted})
