"""Installing and removing the journal: Alembic on the shipped migrations, the friendly way.

A DBA may as well call Alembic: `alembic -n postgres upgrade head` beside alembic.ini, with DMSJOURNAL_URL set.
"""

from __future__ import annotations

import inspect
import io
import re
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa
from alembic import command, context, op, util
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory

from dmsjournal import statements
from dmsjournal.connecting import engine_for, is_locked_out, module_of, translated
from dmsjournal.errors import DatabaseRefused, InvalidRequest, MigrationRefused, NotInstalled, Unavailable

_RUN = re.compile(r'"([a-z]+/[\w.]+)"')  # a file that a migration names
_LOCK_TIMEOUT = re.compile(r"\d+(ms|s|min)?")
_ONE_AT_A_TIME = threading.Lock()  # what Alembic's migrations reach, `op` and `context`, is one for the process


def upgrade(url: str | sa.URL, revision: str = "head", *, lock_timeout: str = "5s") -> None:
    """Installs the journal, or brings it to a revision, in one transaction.

    `lock_timeout` is how long it waits for any lock before it gives up and changes nothing (PostgreSQL units; 0 waits for ever).
    Raises MigrationRefused, with nothing changed; InvalidRequest, also for a revision that the database is past; Unavailable,
    DatabaseRefused.
    """
    _checked_revision(revision)
    if revision == "base":
        raise InvalidRequest("revision", revision, "an upgrade leads to a revision; downgrade removes the journal")

    def migrate(config: Config) -> None:
        _refuse_below(config, revision)
        command.upgrade(config, revision)

    _online(url, lock_timeout, migrate)


def upgrade_adopted(url: str | sa.URL, revision: str, checks: tuple[str, ...], *, fills: bool, lock_timeout: str) -> None:
    """For an adoption: what upgrade does, after `checks` in place of checks/installable, and with the `fills` or without them."""

    def migrate(config: Config) -> None:
        config.attributes.update(adopting=checks, without_fills=not fills)
        command.upgrade(config, revision)

    _online(url, lock_timeout, migrate)


def downgrade(url: str | sa.URL, revision: str, *, lock_timeout: str = "5s") -> None:
    """Takes the journal back to a revision; "base" removes it. Documents stay, and with them the sequence their stamps came from.

    Raises what upgrade raises.
    """
    _checked_revision(revision)
    _online(url, lock_timeout, lambda config: command.downgrade(config, revision))


def script(engine: str = "postgres", revision: str = "head", *, down: bool = False, lock_timeout: str = "5s") -> str:
    """The SQL that an upgrade (or downgrade) runs, for a DBA to read and to run with psql or sqlcmd.

    `revision` may be a range, from:to.
    A downgrade needs a range. Raises InvalidRequest.
    """
    _checked_revision(revision)
    output = io.StringIO()
    config = _config(engine, lock_timeout)
    config.output_buffer = output
    if down and ":" not in revision:
        raise InvalidRequest("revision", revision, "a downgrade script needs both ends, such as head:base")
    try:
        with _ONE_AT_A_TIME:
            (command.downgrade if down else command.upgrade)(config, revision, sql=True)
    except util.CommandError as error:
        raise InvalidRequest("revision", revision, str(error)) from error
    return output.getvalue()


def current(url: str | sa.URL) -> str | None:
    """The revision that the database is at, None where there is no journal. Raises Unavailable, DatabaseRefused."""
    engine = engine_for(url)
    try:
        with translated(), engine.connect() as conn:
            return MigrationContext.configure(conn, opts={"version_table_schema": "dms"}).get_current_revision()
    except NotInstalled:
        return None
    finally:
        engine.dispose()


def newest(engine: str = "postgres") -> str:
    """The newest revision that this program ships."""
    head = ScriptDirectory.from_config(_config(engine, "5s")).get_current_head()
    assert head is not None
    return head


def installed_files(engine: str, revisions: Iterable[str]) -> list[str]:
    """The files of sql/<engine>/ that the upgrades to these revisions have run, oldest first.

    Raises InvalidRequest for a revision of another release.
    """
    scripts = ScriptDirectory.from_config(_config(engine, "5s"))
    try:
        found = list(scripts.iterate_revisions(tuple(revisions), "base"))
    except util.CommandError as error:
        raise InvalidRequest("revision", tuple(revisions), f"use the release that installed it ({error})") from error
    return [name for script in reversed(found) for name in _RUN.findall(inspect.getsource(script.module.upgrade))]


def run(*names: str) -> None:
    """For migrations: runs files of sql/<engine>/ as they are, each in a batch of its own. An adoption leaves the fills out."""
    migration = op.get_context()
    engine = statements.engine_name(migration.dialect.name)
    without_fills = context.config.attributes.get("without_fills", False)
    for name in names:
        if without_fills and ".fill." in name:
            continue
        for batch in statements.batches(statements.text_of(engine, name)):
            if migration.as_sql:
                write_batch(migration.impl.static_output, engine, batch)
            else:
                run_batch(op.get_bind(), batch)


def run_batch(conn: sa.Connection, batch: str) -> None:
    """Runs a batch as it is. All of its results are read: an error of a later statement shows only then."""
    result = conn.execution_options(no_parameters=True).exec_driver_sql(batch)
    cursor: Any = result.cursor
    while cursor is not None and getattr(cursor, "nextset", None) is not None and cursor.nextset():
        pass
    result.close()


def write_batch(write: Callable[[str], None], engine: str, batch: str) -> None:
    """Writes a batch into a script, and what ends one there."""
    separator = module_of(engine).SEPARATOR
    write(f"{batch.strip()}\n{separator}" if separator else batch)


def checked_lock_timeout(lock_timeout: str) -> str:
    """The lock timeout. Raises InvalidRequest."""
    if not isinstance(lock_timeout, str) or not _LOCK_TIMEOUT.fullmatch(lock_timeout):
        raise InvalidRequest("lock_timeout", lock_timeout, "write it like 500ms, 5s or 1min; 0 waits for ever")
    return lock_timeout


def _config(engine: str, lock_timeout: str) -> Config:
    config = Config(stdout=io.StringIO())
    config.set_main_option("script_location", str(statements.shipped("migrations") / engine).replace("%", "%%"))
    config.attributes["lock_timeout"] = checked_lock_timeout(lock_timeout)
    return config


def _online(url: str | sa.URL, lock_timeout: str, migrate: Callable[[Config], None]) -> None:
    engine = engine_for(url)
    try:
        with _ONE_AT_A_TIME, _refusals(), translated(), engine.connect() as conn:
            config = _config(statements.engine_name(engine.dialect.name), lock_timeout)
            config.attributes["connection"] = conn
            migrate(config)
    finally:
        engine.dispose()


def _checked_revision(revision: object) -> None:
    """Raises InvalidRequest for what can be no revision."""
    if not isinstance(revision, str) or not revision.strip():
        raise InvalidRequest("revision", revision, "name one of this release, such as `head`")


def _refuse_below(config: Config, revision: str) -> None:
    """Raises InvalidRequest where the database is past the revision already: Alembic would do nothing, and say nothing."""
    scripts, conn = ScriptDirectory.from_config(config), config.attributes["connection"]
    with conn.begin():  # ends before the migrations begin theirs
        heads = MigrationContext.configure(conn, opts={"version_table_schema": "dms"}).get_current_heads()
    for head in heads:
        known = scripts.get_revision(head)  # raises CommandError where it is another release's
        if head != revision and revision in {script.revision for script in scripts.iterate_revisions(known.revision, "base")}:
            raise InvalidRequest("revision", revision, f"the database is at {head}, past it: downgrade to it, or upgrade to head")


@contextmanager
def _refusals() -> Iterator[None]:
    """Within it, whatever stopped a migration leaves as MigrationRefused: it ran in one transaction, which was rolled back."""
    try:
        yield
    except util.CommandError as error:
        raise MigrationRefused(
            f"the migrations do not fit the database ({error})",
            "Name one of this release, such as `head`, or use the release that installed it.",
        ) from error
    except Unavailable as error:
        if not is_locked_out(error.__cause__):
            raise
        raise MigrationRefused(
            "a lock that the migration needs is held by another session",
            "See who holds it (docs/dba/locks.md); wait for that session to end, or give --lock-timeout more.",
        ) from error
    except DatabaseRefused as error:
        if error.code is None or error.refused == "login":
            raise
        remedy = "Run it as the installing role." if error.refused == "right" else error.remedy
        raise MigrationRefused(error.message, remedy) from error
