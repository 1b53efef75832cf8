"""Alembic's environment, one for all engines: one transaction, a lock timeout, alembic_version in schema dms."""

from __future__ import annotations

import os

import sqlalchemy as sa
from alembic import context

from dmsjournal.database import sql
from dmsjournal.database.connect import engine_for
from dmsjournal.database.engine import Engine
from dmsjournal.database.engines import engine_named
from dmsjournal.schema import ownership
from dmsjournal.schema.migrate import run_batch, write_batch
from dmsjournal.schema.options import note_installed, with_options
from dmsjournal.util.durations import checked_lock_timeout


def run(name: str) -> None:
    """What migrations/<engine>/env.py does: writes a script, or migrates the database that it is given or that is named."""
    engine, config = engine_named(name), context.config
    with_options(context.script)
    arguments = context.get_x_argument(as_dictionary=True)
    lock_timeout = checked_lock_timeout(
        config.attributes.get("lock_timeout")
        or arguments.get("lock_timeout")
        or config.get_section_option(config.config_ini_section, "lock_timeout")
        or "5s"
    )
    if context.is_offline_mode():
        _write(engine, lock_timeout)
    elif (given := config.attributes.get("connection")) is not None:
        _migrate(engine, lock_timeout, given)
    else:
        url = (
            arguments.get("url")
            or os.environ.get("DMSJOURNAL_URL")
            or config.get_section_option(config.config_ini_section, "sqlalchemy.url")
        )
        if not url:
            raise SystemExit(f"name the database: set DMSJOURNAL_URL, or pass -x url={engine.EXAMPLE}")
        pool = engine_for(url)
        with pool.connect() as connection:
            _migrate(engine, lock_timeout, connection)
        pool.dispose()


def _write(engine: Engine, lock_timeout: str) -> None:
    context.configure(
        dialect_name=engine.DIALECT,
        literal_binds=True,
        version_table_schema="dms",
        transactional_ddl=True,
        **engine.SCRIPT_OPTIONS,
    )
    write = context.get_context().impl.static_output
    write(engine.SCRIPT_BEGINS)
    with context.begin_transaction():
        for batch in _checks(engine, lock_timeout):
            write_batch(write, engine, batch)
        context.run_migrations()
        for batch in _ends(engine):
            write_batch(write, engine, batch)
    if engine.SCRIPT_ENDS:
        write(engine.SCRIPT_ENDS)


def _migrate(engine: Engine, lock_timeout: str, connection: sa.Connection) -> None:
    # Of `alembic check`: there are no models to compare with, so what it says is whether the database is at the heads.
    context.configure(
        connection=connection, version_table_schema="dms", target_metadata=sa.MetaData(), include_name=lambda *_: False
    )
    with context.begin_transaction(), engine.own_names_kept(connection):
        for batch in _checks(engine, lock_timeout):
            run_batch(connection, batch)
        note_installed(context.script, context.get_context().get_current_heads())  # after the checks: reading it could run code
        context.run_migrations()
        for batch in _ends(engine):
            run_batch(connection, batch)


def _checks(engine: Engine, lock_timeout: str) -> list[str]:
    """The batches that come before the first migration."""
    installable = context.config.attributes.get("adopting", ("checks/installable",))  # an adoption has checks of its own
    before = (*engine.FIRST_CHECKS, "checks/lock_timeout", "checks/one_at_a_time", "checks/server", "checks/schema")
    after = ("checks/rights", *installable, "checks/versions")
    text = engine.lock_timeout(lock_timeout)
    trust = _trusted()
    return [
        ownership.with_trust(engine.NAME, sql.text_of(engine.NAME, name).replace("{lock_timeout}", text), trust)
        for name in (*before, "checks/owned", *after)
    ]


def _trusted() -> list[str]:
    """What is taken over on purpose: as the program was told, or as `-x trust=…` says, which may be repeated."""
    given = context.config.attributes.get("trust")
    if given is not None:
        return list(given)
    return [value for name, _, value in (argument.partition("=") for argument in context.get_x_argument()) if name == "trust"]


def _ends(engine: Engine) -> list[str]:
    """The batches that come after the last migration."""
    return [sql.text_of(engine.NAME, name) for name in ("checks/options", "checks/mark")]
