"""Filling what an option keeps, in batches, while writers go on."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection

import sqlalchemy as sa

from dmsjournal.database.connect import engine_for, translated
from dmsjournal.database.engine import Engine
from dmsjournal.database.engines import engine_of
from dmsjournal.database.lock_holders import naming_holders
from dmsjournal.database.revisions import REVISION
from dmsjournal.database.session import Session
from dmsjournal.database.sql import text_of
from dmsjournal.errors import InvalidRequest, NotInstalled, valid_names
from dmsjournal.schema.migrate import installed, known_options

_BATCHES = {"max_dep_identity_version": "schema/fill_max_dep"}  # by option, the statement of a batch


def fill(
    url: str | sa.URL,
    option: str,
    *,
    batch_size: int = 1_000,
    pause: float = 0.0,
    progress: Callable[[int], None] = lambda looked_at: None,
) -> int:
    """Fills what an option keeps for documents that were there before it; returns how many it looked at.

    Units: `batch_size` is documents a transaction (1 to 1,000,000), `pause` is seconds between two of them. `progress` is called
    after each batch with the documents looked at so far. What was filled stays: after an error, call it again.
    Raises InvalidRequest, NotInstalled, Unavailable, DatabaseRefused. Source: docs/dba/options.md.
    """
    if not isinstance(batch_size, int) or not 1 <= batch_size <= 1_000_000:
        raise InvalidRequest("batch_size", batch_size, "give a number from 1 to 1,000,000")
    if pause < 0:
        raise InvalidRequest("pause", pause, "give seconds, 0 or more")
    found = installed(url)
    if found.revision is None or found.is_adopting:
        raise NotInstalled(found.revision, REVISION, "adopt" if found.is_adopting else "upgrade")
    pool = engine_for(url)
    engine, total = engine_of(pool), 0
    try:
        _checked_option(option, found.options, engine)
        if statements := engine.FILLED_INDEXES.get(option):
            _make_index(pool, *statements)
        while True:
            with translated(), pool.begin() as conn:
                looked_at = Session(conn).execute(_BATCHES[option], batch_size=batch_size).scalar_one()
            if not looked_at:
                return total
            total += looked_at
            progress(total)
            time.sleep(pause)
    finally:
        pool.dispose()


def _make_index(pool: sa.Engine, makes: str, is_whole: str, drops: str) -> None:
    """Makes an index while writers go on. What an interrupted run has left goes first: the server keeps it, and never uses it.

    It is looked for after the attempt to make it, which has waited for another run that makes it now.
    """
    with naming_holders(pool), translated(), pool.connect().execution_options(isolation_level="AUTOCOMMIT") as conn:
        Session(conn).execute(makes)
        while not _answer(pool, is_whole):
            Session(conn).execute(drops)
            Session(conn).execute(makes)


def _answer(pool: sa.Engine, query: str) -> bool:
    with translated(), pool.begin() as conn:
        return bool(Session(conn).execute(query).scalar_one())


def made_by_fill(engine: Engine) -> dict[str, str]:
    """The indexes that a fill makes, in lower case, each with its option: until then, an upgrade has left them out."""
    return {
        name: option
        for option, (makes, *_) in engine.FILLED_INDEXES.items()
        for _, name, _ in engine.defined(text_of(engine.NAME, f"queries/{makes}"))
    }


def _checked_option(name: str, found: Collection[str], engine: Engine) -> None:
    """Raises InvalidRequest unless it is an option that is filled, and that the database has."""
    fillable = valid_names(list(_BATCHES))
    if name not in known_options(engine.NAME):
        raise InvalidRequest("option", name, f"this release has no such option; {fillable}")
    if name not in _BATCHES:
        raise InvalidRequest("option", name, f"it is whole as it comes, there is nothing to fill; {fillable}")
    if name not in found:
        has = ", ".join(found) or "no option"
        raise InvalidRequest("option", name, f"the database has {has}: add it with `dmsjournal upgrade --with {name}`")
