"""Filling what an option keeps, in batches, while writers go on."""

from __future__ import annotations

import time
from collections.abc import Callable

import sqlalchemy as sa

from dmsjournal.connecting import REVISION, engine_for, translated
from dmsjournal.errors import InvalidRequest, NotInstalled
from dmsjournal.migrating import installed
from dmsjournal.session import Session
from dmsjournal.statements import engine_name

_BATCHES = {"max_dep_identity_version": "fill_max_dep"}  # by option, the statement of a batch
_BEGINS = {"postgres": "index_max_dep"}  # by engine, outside a transaction; SQL Server's migration makes its index


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
    if found.revision is None:
        raise NotInstalled(None, REVISION)
    if option not in _BATCHES or option not in found.options:
        has = ", ".join(found.options) or "no option"
        raise InvalidRequest("option", option, f"the database has {has}: add it with `dmsjournal upgrade --with`")
    pool = engine_for(url)
    engine, total = engine_name(pool.dialect.name), 0
    try:
        if engine in _BEGINS:
            with translated(), pool.connect().execution_options(isolation_level="AUTOCOMMIT") as conn:
                Session(conn, engine).execute(_BEGINS[engine])
        while True:
            with translated(), pool.begin() as conn:
                looked_at = Session(conn, engine).execute(_BATCHES[option], batch_size=batch_size).scalar_one()
            if not looked_at:
                return total
            total += looked_at
            progress(total)
            time.sleep(pause)
    finally:
        pool.dispose()
