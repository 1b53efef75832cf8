"""URLs of SQLAlchemy in the words of JDBC drivers."""

from __future__ import annotations

from collections.abc import Mapping

import sqlalchemy as sa

from dmsjournal.errors import UnsupportedCapability


def translated(given: Mapping[str, str], words: Mapping[str, str]) -> dict[str, str]:
    """The settings of a URL by the JDBC driver's names. Raises UnsupportedCapability: leaving one about TLS out is not safe."""
    if unknown := given.keys() - words.keys():
        listed = ", ".join(words)
        raise UnsupportedCapability(f"{', '.join(sorted(unknown))} in a URL for Spark", f"the settings it can pass on are {listed}")
    return {words[name]: value for name, value in given.items()}


def host_of(url: sa.URL) -> str:
    """The host as a JDBC URL has it."""
    return host(url.host or "localhost")


def host(name: str) -> str:
    """A host as a JDBC URL has it."""
    return f"[{name}]" if ":" in name else name  # an IPv6 address
