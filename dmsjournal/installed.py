"""What schema dms is made of, compared with the shipped text of the revision that is installed."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from dmsjournal import statements
from dmsjournal.connecting import module_of
from dmsjournal.revisions import option_of
from dmsjournal.session import Session

_DROPPED = re.compile(r"^DROP (?:FUNCTION|INDEX|PROCEDURE|TABLE|TRIGGER|VIEW) (?:IF EXISTS )?(?:dms\.)?(\w+)", re.MULTILINE)
COMPARED = ("table", "trigger", "routine", "view", "sequence", "index", "constraint")
_CODES = {"owner": "owner-differs", "option": "option-off", "partition": "partition-altered"}  # told only where wrong


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
    from dmsjournal import migrating  # Alembic, which reading does without

    module = module_of(session.engine)
    found: dict[tuple[str, str], Shipped] = {}
    for file in migrating.installed_files(session.engine, session.execute("revisions").scalars()):
        text = statements.text_of(session.engine, file)
        for dropped in _DROPPED.findall(text):
            found = {key: shipped for key, shipped in found.items() if key[1] != dropped.lower()}
        for kind, name, definition in module.defined(text):
            found[kind, name] = Shipped(kind, name, definition, file)
    return found


def deviations(session: Session) -> list[Deviation]:
    """What is missing, switched off or not as shipped."""
    from dmsjournal.filling import made_by_fill  # Alembic, which reading does without

    installed: dict[tuple[str, str], list[tuple[str | None, str]]] = {}
    found = []
    for row in session.execute("verify_objects"):
        if row.kind in COMPARED:
            installed.setdefault((row.kind, row.name.lower()), []).append((row.definition, row.state))
        elif row.state != "ok":
            found.append(Deviation(_CODES[row.kind], row.name, row.state))
    filled = made_by_fill(session.engine)
    objects = shipped_objects(session)
    for row in session.execute("status_triggers"):
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
    return found


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
    engine = module_of(session.engine)
    if shipped.definition is not None:
        return bool(engine.told(shipped.kind, definition) != shipped.definition)
    temporary = engine.temporary_view(statements.text_of(session.engine, shipped.file))
    return temporary is not None and definition != _as_the_server_tells(session, temporary, shipped.name)


def _as_the_server_tells(session: Session, temporary_view: str, name: str) -> str | None:
    """The definition of a view that is made for this and rolled back."""
    made = session.conn.begin_nested()
    try:
        session.conn.exec_driver_sql(temporary_view, execution_options={"no_parameters": True})
        told: str | None = session.execute("verify_view", view_name=name).scalar()
        return told
    finally:
        made.rollback()


def is_of_option(session: Session, option: str, deviating: Iterable[Deviation]) -> bool:
    """Whether something that writes what an option keeps is among them."""
    from dmsjournal import migrating

    revisions = [revision for revision in session.execute("revisions").scalars() if option_of(revision) == option]
    files = migrating.installed_files(session.engine, revisions)
    return any(d.shipped is not None and d.shipped.kind in ("trigger", "routine") and d.shipped.file in files for d in deviating)


def replacements(session: Session, deviating: Iterable[Deviation]) -> list[str]:
    """The scripts that put deviating triggers, routines and views right, in the order of the installation."""
    files = {d.shipped.file for d in deviating if d.shipped is not None and d.shipped.kind in ("trigger", "routine", "view")}
    ordered = list(dict.fromkeys(shipped.file for shipped in shipped_objects(session).values() if shipped.file in files))
    return [module_of(session.engine).replaced(statements.text_of(session.engine, file)) for file in ordered]
