"""Resources: what a document is one of."""

from __future__ import annotations

import re
from dataclasses import dataclass

from dmsjournal.errors import InvalidRequest

# Letters and digits of any script, and what names of projects, resources and versions are written with in the field.
_NAME = re.compile(r"[^\W_][\w .+-]*")
_FIELDS = (("project_name", 256), ("resource_name", 256), ("resource_version", 64))


@dataclass(frozen=True, order=True, slots=True)
class ResourceKey:
    """A resource of a version of a project, such as ResourceKey("Ed-Fi", "Student", "5.2.0").

    Bounds: 1 to 256 characters for the names, 1 to 64 for the version. Raises InvalidRequest.
    """

    project_name: str
    resource_name: str
    resource_version: str

    def __post_init__(self) -> None:
        for parameter, limit in _FIELDS:
            value = getattr(self, parameter)
            if not isinstance(value, str) or not 1 <= len(value) <= limit or not _is_text(value):
                raise InvalidRequest(parameter, value, f"a name is text of 1 to {limit} characters")

    def __str__(self) -> str:
        return f"{self.project_name}/{self.resource_name}/{self.resource_version}"

    @classmethod
    def stored(cls, project_name: str, resource_name: str, resource_version: str) -> ResourceKey:
        """The resource that a database names, whatever the names are: another program may have written what nobody can ask for."""
        resource = object.__new__(cls)
        for (parameter, _), value in zip(_FIELDS, (project_name, resource_name, resource_version), strict=True):
            object.__setattr__(resource, parameter, value)
        return resource

    @classmethod
    def parse(cls, text: str) -> ResourceKey:
        """The inverse of str(): project/resource/version. Raises InvalidRequest."""
        parts = text.split("/")
        if len(parts) != 3:
            raise InvalidRequest("resource", text, "write it as project/resource/version, such as Ed-Fi/Student/5.2.0")
        return cls(*parts)


def checked_new(resource: ResourceKey) -> ResourceKey:
    """The resource, if its names are ones to add to a database: stricter than reading, where other programs' names must do.

    Raises InvalidRequest.
    """
    for parameter, _ in _FIELDS:
        value = getattr(resource, parameter)
        if not _NAME.fullmatch(value):
            raise InvalidRequest(parameter, value, "a name has letters, digits, blanks and .+-_ and begins with a letter or digit")
    return resource


def _is_text(value: str) -> bool:
    """Whether a database can hold it: no NUL, no unpaired surrogate."""
    try:
        return b"\0" not in value.encode("utf-8")
    except UnicodeEncodeError:
        return False
