"""How Spark reaches the database of a SQLAlchemy URL: the driver, its URL and its properties."""

from __future__ import annotations

import sqlalchemy as sa

from dmsjournal.database.connect import checked_url, engine_of_url
from dmsjournal.journal import Journal

FETCH_SIZE = 10_000  # rows a round trip; without it the driver reads a partition into memory as a whole


def resolved(url: str | sa.URL, journal: Journal) -> sa.URL:
    """The URL of the database that a journal is connected to, with what its driver has taken from the environment and from files.

    Raises UnsupportedCapability, as jdbc_options does.
    """
    with journal.database.connection() as conn:
        return engine_of_url(url).resolved(checked_url(url), conn)


def jdbc_options(url: str | sa.URL) -> dict[str, str]:
    """Spark's JDBC options for the database of a SQLAlchemy URL; the password is one, which Spark's logs redact.

    Raises InvalidRequest, and UnsupportedCapability for a setting that the JDBC driver has no word for: to leave one
    about TLS out, say, would not be safe. Source: docs/how-it-works.md, Spark.
    """
    parsed, engine = checked_url(url), engine_of_url(url)
    options = {"fetchsize": str(FETCH_SIZE), "user": parsed.username, "password": parsed.password}
    given = {name: value for name, value in options.items() if value is not None}
    return given | engine.jdbc_options(parsed)
