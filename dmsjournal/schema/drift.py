"""What schema dms is made of, compared with the shipped text of the revision that is installed."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from dmsjournal.database import sql
from dmsjournal.database.revisions import option_of
from dmsjournal.database.session import Session

_DROPPED = re.compile(r"^DROP (?:FUNCTION|INDEX|PROCEDURE|TABLE|TRIGGER|VIEW) (?:IF EXISTS )?(?:dms\.)?(\w+)", re.MULTILINE)
COMPARED = ("table", "trigger", "routine", "view", "order", "sequence", "index", "constraint")
_CODES = {  # told only where wrong
    "hidden": "rows-hidden",
    "option": "option-off",
    "partition": "partition-altered",
    "right": "right-missing",
}


@dataclass(frozen=True, slots=True)
class Shipped:
    """An object that the installed revisions have: the file of sql/<engine>/ that defines it last, and its definition."""

    kind: str
    name: str
    definition: str | None
    file: str


@dataclass(frozen=True, slots=True)
class Deviation:
    """An object that is not as shipped: `state` says how; `shipped` is None for what belongs to no single file."""

    code: str
    name: str
    state: str
    shipped: Shipped | None = None

    def __str__(self) -> str:
        return f"{self.name} ({self.state})" if self.state else self.name


def shipped_objects(session: Session) -> dict[tuple[str, str], Shipped]:
    """The objects of the revisions that the database is at, by kind and name in lower case."""
    from dmsjournal.schema import migrate  # Alembic, which reading does without

    found: dict[tuple[str, str], Shipped] = {}
    for file in migrate.installed_files(session.engine.NAME, session.execute("database/revisions").scalars()):
        text = sql.text_of(session.engine.NAME, file)
        for dropped in _DROPPED.findall(text):
            found = {key: shipped for key, shipped in found.items() if key[1] != dropped.lower()}
        for kind, name, definition in session.engine.defined(text):
            found[kind, name] = Shipped(kind, name, definition, file)
    return found


def deviations(session: Session) -> list[Deviation]:
    """What is missing, switched off or not as shipped."""
    from dmsjournal.schema.fill import made_by_fill  # Alembic, which reading does without

    installed: dict[tuple[str, str], list[tuple[str | None, str]]] = {}
    found = []
    for row in session.execute("schema/verify_objects"):
        if row.kind in COMPARED:
            installed.setdefault((row.kind, row.name.lower()), []).append((row.definition, row.state))
        elif row.state != "ok":
            found.append(Deviation(_CODES[row.kind], row.name, row.state))
    filled = made_by_fill(session.engine)
    objects = shipped_objects(session)
    for row in session.execute("schema/status_triggers"):
        if row.state in ("missing", "disabled") and ("trigger", row.trigger_name.lower()) not in objects:
            found.append(Deviation("adopted-trigger", row.trigger_name.lower(), row.state))
    for key, shipped in objects.items():
        if shipped.kind not in COMPARED:
            continue
        if shipped.kind == "index" and key not in installed and key[1] in filled:
            found.append(Deviation("option-unfilled", filled[key[1]], f"{shipped.name} is missing", shipped))
            continue
        if key not in installed:
            found.append(Deviation(f"{shipped.kind}-missing", shipped.name, "", shipped))
            continue
        # Others may have a function of other parameters, or a trigger of another table, by the name: ours fits best.
        best = min([_deviations_of(session, shipped, *row) for row in installed[key]], key=len)
        found += best
    return found + _definitions(session)


def _definitions(session: Session) -> list[Deviation]:
    """Columns, keys, checks and indexes that are not defined as shipped, where the engine lets a name mean what somebody else made.

    The same server tells both, in one search path, so that what a definition resolves to is compared, and no version's spelling.
    """
    from dmsjournal.schema import migrate

    engine = session.engine
    if not engine.COMPARES_TWINS:
        return []
    made = session.conn.begin_nested()
    try:
        session.execute("schema/begin_twins")
        for file in migrate.installed_files(session.engine.NAME, session.execute("database/revisions").scalars()):
            for statement in engine.twins(sql.text_of(session.engine.NAME, file)):
                migrate.run_batch(session.conn, statement)
        rows = session.execute("schema/verify_definitions").all()
    finally:
        made.rollback()
    return [Deviation(f"{row.kind}-altered", row.name, row.state) for row in rows]


def _deviations_of(session: Session, shipped: Shipped, definition: str | None, state: str) -> list[Deviation]:
    found = []
    if state == "disabled" and shipped.kind == "trigger":
        found.append(Deviation("trigger-disabled", shipped.name, "", shipped))
    elif state != "ok":
        found.append(Deviation(f"{shipped.kind}-altered", shipped.name, state, shipped))
    if definition is not None and _differs(session, shipped, definition):
        found.append(Deviation(f"{shipped.kind}-altered", shipped.name, "its text is another one", shipped))
    return found


def _differs(session: Session, shipped: Shipped, definition: str) -> bool:
    engine = session.engine
    if shipped.definition is not None:
        return bool(engine.comparable(shipped.kind, definition) != shipped.definition)
    temporary = engine.temporary_view(sql.text_of(session.engine.NAME, shipped.file))
    return temporary is not None and definition != _as_the_server_tells(session, temporary, shipped.name)


def _as_the_server_tells(session: Session, temporary_view: str, name: str) -> str | None:
    """The definition of a view that is made for this and rolled back."""
    made = session.conn.begin_nested()
    try:
        session.conn.exec_driver_sql(temporary_view, execution_options={"no_parameters": True})
        told: str | None = session.execute("schema/verify_view", view_name=name).scalar()
        return told
    finally:
        made.rollback()


def is_of_option(session: Session, option: str, deviating: Iterable[Deviation]) -> bool:
    """Whether something that writes what an option keeps is among them."""
    from dmsjournal.schema import migrate

    revisions = [revision for revision in session.execute("database/revisions").scalars() if option_of(revision) == option]
    files = migrate.installed_files(session.engine.NAME, revisions)
    return any(d.shipped is not None and d.shipped.kind in ("trigger", "routine") and d.shipped.file in files for d in deviating)


def replacements(session: Session, deviating: Iterable[Deviation]) -> list[str]:
    """The scripts that put deviating triggers, routines and views right, in the order of the installation.

    A trigger that is made anew has lost its place among the others, which is set again after it.
    """
    wrong = [d.shipped for d in deviating if d.shipped is not None and d.shipped.kind in ("trigger", "routine", "view", "order")]
    files, triggers = {shipped.file for shipped in wrong}, {shipped.name for shipped in wrong if shipped.kind == "trigger"}
    objects = shipped_objects(session).values()
    files |= {shipped.file for shipped in objects if shipped.kind == "order" and shipped.name in triggers}
    ordered = list(dict.fromkeys(shipped.file for shipped in objects if shipped.file in files))
    return [session.engine.replaced(sql.text_of(session.engine.NAME, file)) for file in ordered]
