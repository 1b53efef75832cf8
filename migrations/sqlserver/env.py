"""Alembic's environment on SQL Server: one transaction, a lock timeout, alembic_version in schema dms."""

import os

from alembic import context

from dmsjournal.connecting import engine_for
from dmsjournal.migrating import checked_lock_timeout, checks, mark, run_batch, separator, write_batch

config = context.config
arguments = context.get_x_argument(as_dictionary=True)
lock_timeout = checked_lock_timeout(
    config.attributes.get("lock_timeout")
    or arguments.get("lock_timeout")
    or config.get_section_option(config.config_ini_section, "lock_timeout")
    or "5s"
)


def run_offline() -> None:
    context.configure(
        dialect_name="mssql",
        dialect_opts={"paramstyle": "qmark"},
        literal_binds=True,
        version_table_schema="dms",
        transactional_ddl=True,
        mssql_batch_separator=separator("sqlserver"),  # of Alembic's own statements
    )
    write = context.get_context().impl.static_output
    write("SET XACT_ABORT ON;\nSET QUOTED_IDENTIFIER ON;\nSET ANSI_NULLS ON;\nGO")
    with context.begin_transaction():
        for batch in checks("sqlserver", lock_timeout):
            write_batch(write, "sqlserver", batch)
        context.run_migrations()
        write_batch(write, "sqlserver", mark("sqlserver"))
    write("SET NOEXEC OFF;\nGO")


def run_online(connection) -> None:
    context.configure(connection=connection, version_table_schema="dms")
    with context.begin_transaction():
        for batch in checks("sqlserver", lock_timeout):
            run_batch(connection, batch)
        context.run_migrations()
        run_batch(connection, mark("sqlserver"))


if context.is_offline_mode():
    run_offline()
elif (given := config.attributes.get("connection")) is not None:
    run_online(given)
else:
    url = (
        arguments.get("url")
        or os.environ.get("DMSJOURNAL_URL")
        or config.get_section_option(config.config_ini_section, "sqlalchemy.url")
    )
    if not url:
        raise SystemExit("name the database: set DMSJOURNAL_URL, or pass -x url=mssql+pyodbc://…")
    engine = engine_for(url)
    with engine.connect() as connection:
        run_online(connection)
    engine.dispose()
