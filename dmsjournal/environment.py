"""Alembic's environment, one for all engines: one transaction, a lock timeout, alembic_version in schema dms."""

from __future__ import annotations

import os

import sqlalchemy as sa
from alembic import context

from dmsjournal import statements
from dmsjournal.branches import with_options
from dmsjournal.connecting import engine_for, module_of
from dmsjournal.migrating import checked_lock_timeout, run_batch, write_batch


def run(engine: str) -> None:
    """What migrations/<engine>/env.py does: writes a script, or migrates the database that it is given or that is named."""
    config = context.config
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
            raise SystemExit(f"name the database: set DMSJOURNAL_URL, or pass -x url={module_of(engine).EXAMPLE}")
        pool = engine_for(url)
        with pool.connect() as connection:
            _migrate(engine, lock_timeout, connection)
        pool.dispose()


def _write(engine: str, lock_timeout: str) -> None:
    module = module_of(engine)
    context.configure(
        dialect_name=module.DIALECT,
        literal_binds=True,
        version_table_schema="dms",
        transactional_ddl=True,
        **module.SCRIPT_OPTIONS,
    )
    write = context.get_context().impl.static_output
    write(module.SCRIPT_BEGINS)
    with context.begin_transaction():
        for batch in _checks(engine, lock_timeout):
            write_batch(write, engine, batch)
        context.run_migrations()
        for batch in _ends(engine):
            write_batch(write, engine, batch)
    if module.SCRIPT_ENDS:
        write(module.SCRIPT_ENDS)


def _migrate(engine: str, lock_timeout: str, connection: sa.Connection) -> None:
    context.configure(connection=connection, version_table_schema="dms")
    with context.begin_transaction():
        for batch in _checks(engine, lock_timeout):
            run_batch(connection, batch)
        context.run_migrations()
        for batch in _ends(engine):
            run_batch(connection, batch)


def _checks(engine: str, lock_timeout: str) -> list[str]:
    """The batches that come before the first migration."""
    installable = context.config.attributes.get("adopting", ("checks/installable",))  # an adoption has checks of its own
    names = ("checks/lock_timeout", "checks/one_at_a_time", "checks/server", *installable, "checks/schema")
    text = module_of(engine).lock_timeout(lock_timeout)
    return [statements.text_of(engine, name).replace("{lock_timeout}", text) for name in names]


def _ends(engine: str) -> list[str]:
    """The batches that come after the last migration."""
    return [statements.text_of(engine, name) for name in ("checks/options", "checks/mark")]
