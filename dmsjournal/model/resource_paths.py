"""How Ed-Fi's API spells resources in paths: Student is ed-fi/students, GradeLevelDescriptor ed-fi/gradeLevelDescriptors."""

from __future__ import annotations

import re

from dmsjournal.model.resources import ResourceKey

_IRREGULAR = {"Person": "People"}


def path_of(resource: ResourceKey) -> str:
    """The path of a resource, where no map says otherwise: project/resource."""
    return f"{_project(resource.project_name)}/{_plural(resource.resource_name)}"


def _project(name: str) -> str:
    return re.sub(r"\s+", "-", name.lower())


def _plural(name: str) -> str:
    """GradeLevelDescriptor is gradeLevelDescriptors, Agency is agencies."""
    word = _IRREGULAR.get(name, name)
    if word == name:
        if re.search(r"[^aeiouAEIOU]y$", word):
            word = word[:-1] + "ies"
        elif re.search(r"(s|x|z|ch|sh)$", word):
            word += "es"
        else:
            word += "s"
    return word[:1].lower() + word[1:]
