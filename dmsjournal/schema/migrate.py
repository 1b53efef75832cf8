"""Installing and removing the journal and its options: Alembic on the shipped migrations, the friendly way.

A DBA may as well call Alembic: `alembic -n postgres upgrade head` beside alembic.ini, with DMSJOURNAL_URL set.
"""

from __future__ import annotations

import inspect
import io
import re
import threading
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

import sqlalchemy as sa
from alembic import command, context, op, util
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.script.revision import RevisionError

from dmsjournal.database import sql
from dmsjournal.database.connect import engine_for, is_locked_out, is_out_of_locks, message_of, translated
from dmsjournal.database.engine import Engine
from dmsjournal.database.engines import DEFAULT, engine_of, engine_of_dialect
from dmsjournal.database.lock_holders import naming_holders
from dmsjournal.database.revisions import journal_revision, needed_by, option_of
from dmsjournal.database.session import Session
from dmsjournal.errors import (
    DatabaseRefused,
    InvalidRequest,
    MigrationRefused,
    NotInstalled,
    Unavailable,
    valid_names,
)
from dmsjournal.schema import ownership
from dmsjournal.schema.options import JOURNAL, with_options
from dmsjournal.util.durations import checked_lock_timeout

_RUN = re.compile(r'"([a-z]+/[\w.]+)"')  # a file that a migration names
_ALREADY_THERE = {"42P07", "42723", "42710", "2714"}  # PostgreSQL: a table, a function, a trigger; SQL Server: any object
_ONE_AT_A_TIME = threading.Lock()  # what Alembic's migrations reach, `op` and `context`, is one for the process


@dataclass(frozen=True, slots=True)
class Installed:
    """What a database has: the journal's revision, None where there is no journal, and the names of its options, in order.

    `is_adopting`: an adoption is on its way, and nobody reads before its end.
    """

    revision: str | None
    options: tuple[str, ...] = ()
    is_adopting: bool = False


def upgrade(
    url: str | sa.URL,
    revision: str = "head",
    *,
    options: Collection[str] = (),
    lock_timeout: str = "5s",
    trust: Collection[str] = (),
) -> Installed:
    """Installs the journal, or brings it to a revision, in one transaction; then its options to their newest revisions.

    Those are the options that are named, and, where the revision is "head", the ones that the database has.
    `lock_timeout` is how long it waits for any lock before it gives up and changes nothing (PostgreSQL units; 0 waits for ever).
    `trust` names what is taken over although another role owns it, as a refusal names it: "schema dms", "table dms.document".
    Returns what the database had before. Raises MigrationRefused, with nothing changed; InvalidRequest, also for a revision that
    the database is past; Unavailable, DatabaseRefused.
    """
    _checked_revision(revision)
    if revision == "base":
        raise InvalidRequest("revision", revision, "an upgrade leads to a revision; downgrade removes the journal")

    def migrate(config: Config, found: tuple[str, ...]) -> None:
        _check_options("with", options, known_options(config))
        _refuse_below(config, found, revision)
        command.upgrade(config, f"{JOURNAL}@{revision}" if revision.startswith("+") else revision)
        for name in sorted({*options, *(_options_of(found) if revision == "head" else ())}):
            command.upgrade(config, f"{name}@head")

    return _online(url, lock_timeout, trust, migrate)


def upgrade_adopted(
    url: str | sa.URL, revision: str, checks: tuple[str, ...], *, fills: bool, lock_timeout: str, trust: Collection[str]
) -> None:
    """For an adoption: what upgrade does, after `checks` in place of checks/installable, and with the `fills` or without them."""

    def migrate(config: Config, found: tuple[str, ...]) -> None:
        config.attributes.update(adopting=checks, without_fills=not fills)
        command.upgrade(config, revision)

    _online(url, lock_timeout, trust, migrate)


def abandon_adoption(url: str | sa.URL, *, lock_timeout: str, trust: Collection[str]) -> None:
    """For an adoption: takes what it has installed away again, but no table of documents, and then runs adopt/abandon.sql."""

    def migrate(config: Config, found: tuple[str, ...]) -> None:
        conn: sa.Connection = config.attributes["connection"]
        engine = engine_of(conn)
        if found:
            config.attributes["adopting"] = ()
            command.downgrade(config, "0001")
        for batch in sql.batches(sql.text_of(engine.NAME, "adopt/abandon")):
            run_batch(conn, batch)

    _online(url, lock_timeout, trust, migrate)


def downgrade(
    url: str | sa.URL,
    revision: str | None = None,
    *,
    without: Collection[str] = (),
    lock_timeout: str = "5s",
    trust: Collection[str] = (),
) -> Installed:
    """Takes the journal back to a revision, and options away, in one transaction; "base" removes all.

    `without` names the options to remove. Those that need more than the revision go as well. Documents stay, and with them the
    sequence their stamps came from. `trust`, what it returns and what it raises are as upgrade's.
    """
    if not without and revision is None:
        remedy = "name one, such as 0003 or base, or an option to remove (`without`)"
        raise InvalidRequest("revision", revision, remedy, others=["without"])
    if not without:
        _checked_revision(revision)
    if isinstance(revision, str) and revision.endswith("@base") and revision != f"{JOURNAL}@base":  # as Alembic writes it
        without, revision = [*without, revision.removesuffix("@base")], None

    def migrate(config: Config, found: tuple[str, ...]) -> None:
        _check_options("without", without, known_options(config))
        has = _options_of(found)
        _check_options("without", without, has, f"the database does not have it, it has {', '.join(has) or 'no option'}")
        target = revision and _down_to(config, found, revision)
        for row in found:
            name = option_of(row)
            if name is not None and (name in without or (target is not None and target < needed_by(row))):
                command.downgrade(config, f"{name}@base")
        if revision is not None:
            command.downgrade(config, f"{JOURNAL}@{revision}" if revision.startswith("-") else revision)

    return _online(url, lock_timeout, trust, migrate)


def script(
    engine: str = DEFAULT,
    revision: str | None = None,
    *,
    down: bool = False,
    option: str | None = None,
    lock_timeout: str = "5s",
    trust: Collection[str] = (),
) -> str:
    """The SQL that an upgrade (or downgrade) runs, for a DBA to read and to run with psql or sqlcmd.

    `revision` may be a range, from:to; it is "head" if it is not given. A downgrade needs a range. With an option it is the script
    of that option alone, for a database whose journal is at the newest revision. `trust` is as upgrade's. Raises InvalidRequest.
    """
    output = io.StringIO()
    config = _config(engine, lock_timeout, trust)
    config.output_buffer = output
    if option is not None:
        if revision is not None:
            raise InvalidRequest(
                "revision", revision, "an option's script goes from none to its newest revision, or back", others=["option"]
            )
        _check_options("option", [option], known_options(config))
        revision = f"{option}@head:{option}@base" if down else f"{JOURNAL}@head:{option}@head"
    revision = "head" if revision is None else revision
    _checked_revision(revision)
    if down and ":" not in revision:
        raise InvalidRequest("revision", revision, "a downgrade script needs both ends, such as head:base")
    try:
        with _ONE_AT_A_TIME:
            (command.downgrade if down else command.upgrade)(config, revision, sql=True)
    except util.CommandError as error:
        raise InvalidRequest("revision", revision, str(error)) from error
    return output.getvalue()


def installed(url: str | sa.URL) -> Installed:
    """What the database has. Raises Unavailable, DatabaseRefused."""
    engine = engine_for(url)
    try:
        with translated(), engine.connect() as conn:
            is_adopting = Session(conn).installing_command() == "adopt"
            found = _revisions(conn)
            return Installed(journal_revision(found), tuple(_options_of(found)), is_adopting)
    except NotInstalled:
        return Installed(None)
    finally:
        engine.dispose()


def current(url: str | sa.URL) -> str | None:
    """The revision that the database is at, None where there is no journal. Raises Unavailable, DatabaseRefused."""
    return installed(url).revision


def newest(engine: str = DEFAULT) -> str:
    """The newest revision that this program ships."""
    head = _scripts(_config(engine, "5s")).get_current_head()
    assert head is not None
    return head


def known_options(of: str | Config = DEFAULT) -> list[str]:
    """The names of the options that this program ships, of an engine or as a configuration says."""
    scripts = _scripts(_config(of, "5s") if isinstance(of, str) else of)
    return sorted({name for head in scripts.revision_map.heads if (name := option_of(head))})  # a branch each


def installed_files(engine: str, revisions: Iterable[str]) -> list[str]:
    """The files of sql/<engine>/ that the upgrades to these revisions have run, oldest first, the options' last.

    Raises InvalidRequest for a revision of another release.
    """
    return list(_files_of(engine, *sorted(revisions, key=lambda revision: option_of(revision) or "")))


@cache
def _files_of(engine: str, *revisions: str) -> tuple[str, ...]:
    """`installed_files`: Alembic compiles each migration when it reads it."""
    scripts = _scripts(_config(engine, "5s"))
    names: list[str] = []
    for revision in revisions:
        try:
            found = list(scripts.iterate_revisions(revision, "base"))
        except (util.CommandError, RevisionError) as error:
            raise InvalidRequest("revision", revision, f"use the release that installed it ({error})") from error
        names += [name for script in reversed(found) for name in _RUN.findall(inspect.getsource(script.module.upgrade))]
    return tuple(names)


def run(*names: str) -> None:
    """For migrations: runs files of sql/<engine>/ as they are, each in a batch of its own. An adoption leaves the fills out."""
    migration = op.get_context()
    engine = engine_of_dialect(migration.dialect.name)
    without_fills = context.config.attributes.get("without_fills", False)
    for name in names:
        if without_fills and ".fill." in name:
            continue
        for batch in sql.batches(sql.text_of(engine.NAME, name)):
            if migration.as_sql:
                write_batch(migration.impl.static_output, engine, batch)
            else:
                run_batch(op.get_bind(), batch)


def run_batch(conn: sa.Connection, batch: str) -> None:
    """Runs a batch as it is. All of its results are read: an error of a later statement shows only then."""
    result = conn.exec_driver_sql(batch, execution_options={"no_parameters": True})  # of this statement alone, not of conn
    cursor: Any = result.cursor
    while cursor is not None and getattr(cursor, "nextset", None) is not None and cursor.nextset():
        pass
    result.close()


def write_batch(write: Callable[[str], None], engine: Engine, batch: str) -> None:
    """Writes a batch into a script, and what ends one there."""
    write(f"{batch.strip()}\n{engine.SEPARATOR}" if engine.SEPARATOR else batch)


def _config(engine: str, lock_timeout: str, trust: Collection[str] = ()) -> Config:
    config = Config(stdout=io.StringIO())
    config.set_main_option("script_location", str(sql.shipped("migrations") / engine).replace("%", "%%"))
    config.attributes["lock_timeout"] = checked_lock_timeout(lock_timeout)
    config.attributes["trust"] = ownership.checked_trust(trust)
    return config


def _online(
    url: str | sa.URL, lock_timeout: str, trust: Collection[str], migrate: Callable[[Config, tuple[str, ...]], None]
) -> Installed:
    """Calls `migrate` with the revisions of the database; whatever it runs is one transaction. Returns what there was before."""
    engine = engine_for(url)
    try:
        with _ONE_AT_A_TIME, _refusals(), naming_holders(engine), translated(), engine.connect() as conn:
            config = _config(engine_of(engine).NAME, lock_timeout, _refuse_foreign(conn, trust))
            config.attributes["connection"] = conn
            found = _found(conn)
            with conn.begin():
                migrate(config, found)
            return Installed(journal_revision(found), tuple(_options_of(found)))
    finally:
        engine.dispose()


def _refuse_foreign(conn: sa.Connection, trust: Collection[str]) -> Collection[str]:
    """Raises MigrationRefused for what the role does not own, before anything of the schema is read: Alembic would read it first.

    The migration looks again in its own transaction (checks/owned.sql). This look refuses a name in `trust` that nothing has.
    Returns the objects that the second look trusts: `trust`, and the views of tracked tables whose owners `track --trust` named.
    """
    with conn.begin():
        objects = [one for one in ownership.foreign_objects(Session(conn)) if one.kind != "grant"]
        foreign = ownership.untrusted(objects, trust)
        known = ownership.trusted_by_tracking(Session(conn), foreign)
    if foreign := [one for one in foreign if one.subject not in known]:
        raise MigrationRefused(*ownership.refusal(foreign))
    return [*trust, *known]


def _found(conn: sa.Connection) -> tuple[str, ...]:
    """The revisions of the database, none for a role that may not look: the checks before a migration tell it what it lacks."""
    try:
        with translated(), conn.begin():
            return _revisions(conn)
    except DatabaseRefused as error:
        if error.refused != "right":
            raise
        return ()


def _scripts(config: Config) -> ScriptDirectory:
    return with_options(ScriptDirectory.from_config(config))


def _revisions(conn: sa.Connection) -> tuple[str, ...]:
    """The rows of dms.alembic_version: the journal's revision, and one of each option; none where there is no such table.

    Runs in a transaction, which holds the table as it was looked at.
    """
    Session(conn).execute("database/hold_versions")
    return MigrationContext.configure(conn, opts={"version_table_schema": "dms"}).get_current_heads()


def _options_of(revisions: Collection[str]) -> list[str]:
    return sorted(name for revision in revisions if (name := option_of(revision)))


def _checked_revision(revision: object) -> None:
    """Raises InvalidRequest for what can be no revision."""
    if not isinstance(revision, str) or not revision.strip():
        raise InvalidRequest("revision", revision, "name one of this release, such as `head`")


def _check_options(parameter: str, names: Collection[str], known: Collection[str], otherwise: str | None = None) -> None:
    """Raises InvalidRequest for an option that is not among the known ones."""
    if isinstance(names, str):
        raise InvalidRequest(parameter, names, "give a list of names")
    for name in names:
        if name not in known:
            raise InvalidRequest(parameter, name, otherwise or f"this release has no such option; {valid_names(list(known))}")


def _refuse_below(config: Config, found: tuple[str, ...], revision: str) -> None:
    """Raises InvalidRequest where the database is past the revision already: Alembic would do nothing, and say nothing."""
    head = journal_revision(found)
    if head is not None and revision != head and revision in _down_from(config, head):
        raise InvalidRequest("revision", revision, f"the database is at {head}, past it: downgrade to it, or upgrade to head")


def _down_from(config: Config, head: str) -> list[str]:
    """The journal's revisions from one that a database is at down to the first. Raises CommandError for another release's."""
    scripts = _scripts(config)
    return [script.revision for script in scripts.iterate_revisions(scripts.get_revision(head).revision, "base")]


def _down_to(config: Config, found: tuple[str, ...], revision: str) -> str:
    """The revision of the journal's that a downgrade leads to, "" for none; an unknown one as it is, for Alembic to refuse."""
    head = journal_revision(found)
    if head is None or revision.endswith("base"):
        return ""
    path = _down_from(config, head)
    if re.fullmatch(r"-\d+", revision):
        return [*path, ""][min(-int(revision), len(path))]
    return revision


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
        if is_out_of_locks(error.__cause__):
            remedy = error.remedy.removeprefix("try again. ")
            raise MigrationRefused(
                f"the migration takes more locks than the server has room for ({error.reason})",
                f"{remedy} Each part of a journal takes a few: a prune of older events drops whole parts.",
            ) from error
        if not is_locked_out(error.__cause__):
            raise
        raise MigrationRefused(
            "a lock that the migration needs is held by another session",
            f"The database says: {error.reason}. See who holds it (docs/dba/locks.md); "
            "wait for that session to end, or give --lock-timeout more.",
        ) from error
    except NotInstalled as error:
        raise MigrationRefused(
            f"the database lacks what the migration needs ({message_of(error.__cause__)})",
            "Something of the journal was dropped or renamed: dmsjournal verify names it.",
        ) from error
    except DatabaseRefused as error:
        if error.sqlstate is None or error.refused == "login":
            raise
        if error.sqlstate in _ALREADY_THERE:
            raise MigrationRefused(
                f"{error.message}, and dms.alembic_version does not say so",
                "Name the revision that is there, with `alembic stamp` (docs/dba/install.md, Revisions and objects disagree).",
            ) from error
        remedy = "Run it as the installing role." if error.refused == "right" else error.remedy
        raise MigrationRefused(error.message, remedy) from error
