"""URLs of databases: shown without their secrets, and the servers that they name."""

from __future__ import annotations

import re
from urllib.parse import unquote_plus

import sqlalchemy as sa

from dmsjournal.util.printable import without_secrets

_SECRET_OPTION = re.compile("pass|pwd|secret|token|odbc_connect|clientkey", re.IGNORECASE)


def shown(url: sa.URL) -> str:
    """The URL without its secrets, wherever they stand in it."""
    if any(_is_secret("", text) for text in (url.username, url.host, url.database) if text):  # such as /database;PWD=…
        return "***"
    hidden = [name for name, value in url.query.items() if any(_is_secret(name, each) for each in _each(value))]
    return url.set(query=dict(url.query) | dict.fromkeys(hidden, "hidden")).render_as_string()


def secrets_of(url: sa.URL) -> list[str]:
    """The secrets of a URL: its password, and what `shown` hides of its options."""
    found = [each for name, value in url.query.items() for each in _each(value) if _is_secret(name, each)]
    return [str(secret) for secret in (url.password, *found) if secret]


_SERVERS = re.compile(r"([\w+]+://(?:[^/?#@]*@)?)([^/?#@]+,[^/?#@]+)((?:[/?#].*)?)", re.DOTALL)
_WITH_PORT = re.compile(r"([^:]*):(\d+)")


def parsed(url: str | sa.URL) -> sa.URL:
    """The URL, also as libpq writes one of several servers (//a:5432,b:5432/name). Raises ArgumentError, ValueError."""
    found = _SERVERS.fullmatch(url) if isinstance(url, str) else None
    if found is None or ":" not in found[2]:  # of several without a port SQLAlchemy takes care
        return sa.make_url(url)
    return sa.make_url(found[1] + found[3]).update_query_dict({"host": found[2].split(",")})


def once_each(url: sa.URL) -> sa.URL:
    """The URL; of an option that it repeats the last value counts, as libpq has it. Hosts and ports may be several."""
    given = {name: value if isinstance(value, str) or name in ("host", "port") else value[-1] for name, value in url.query.items()}
    return url.set(query=given)


def hosts_of(url: sa.URL) -> list[tuple[str, int | None]]:
    """The servers that a URL names, in order: the host, and the port where one is given. None are named: the driver's default."""
    hosts = [host for text in _each(url.query.get("host", url.host or ())) for host in text.split(",")]
    if any(_WITH_PORT.fullmatch(host) for host in hosts):
        each = [_WITH_PORT.fullmatch(host) for host in hosts]
        return [(found[1], int(found[2])) if found else (host, None) for found, host in zip(each, hosts, strict=True)]
    ports = [port for text in _each(url.query.get("port", str(url.port or ""))) for port in text.split(",")]
    ports = ports * len(hosts) if len(ports) == 1 else ports
    return [(host, int(port) if port.isdecimal() else None) for host, port in zip(hosts, ports, strict=False)]


def _each(value: str | tuple[str, ...]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def _is_secret(name: str, value: str) -> bool:
    """Whether an option's value is a secret, or holds one, such as a connection string does, however often it is encoded."""
    for _ in range(3):
        value = unquote_plus(value)
    return bool(_SECRET_OPTION.search(name)) or without_secrets(value) != value
