"""Databases with option tracking."""

from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from tests.helpers import in_psycopg
from tests.migrations.conftest import program

__all__ = ["program"]


@pytest.fixture
def tracked(url: str) -> str:
    """The URL of a database that has option tracking."""
    from dmsjournal.schema import migrate

    migrate.upgrade(url, options=["tracking"])
    return url


@pytest.fixture
def connect(tracked: str) -> Iterator[Callable[..., psycopg.Connection[Any]]]:
    """Opens sessions, which commit each statement; they are closed at the end."""
    opened: list[psycopg.Connection[Any]] = []

    def one(**settings: Any) -> psycopg.Connection[Any]:
        opened.append(psycopg.connect(in_psycopg(tracked), **({"autocommit": True} | settings)))
        return opened[-1]

    yield one
    for conn in opened:
        conn.close()


@pytest.fixture
def sql(connect: Callable[..., psycopg.Connection[Any]]) -> Callable[..., list[Any]]:
    """Runs statements in one session of the installing role, each committed; gives the rows of the last one."""
    conn = connect()

    def run(statement: str, *values: object) -> list[Any]:
        cursor = conn.execute(statement, values or None)
        return cursor.fetchall() if cursor.description else []

    return run
