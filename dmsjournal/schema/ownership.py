"""What in schema dms the installing role does not own, and what an operator trusts all the same.

A mark is proof only where the installing role owns what carries it: any role may create a schema dms, and may comment an object of
its own. So a migration looks at owners first, in the catalog alone, before anything of the schema runs.
Source: docs/dba/install.md, A schema that another role made.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from dmsjournal.database import sql
from dmsjournal.database.session import Session
from dmsjournal.errors import InvalidRequest

_TRACKED_VIEW = re.compile(r'rule "_RETURN" on dms\.tracked_\d+')


@dataclass(frozen=True, slots=True)
class ForeignObject:
    """An object that is not the installing role's. `kind` is as sql/<engine>/queries/schema/foreign_objects.sql lists them.

    `subject` is its type and name, such as "table dms.document": what `trust` takes. `name` is the bare name of a table, function
    or procedure of schema dms, else the subject. `owner` is the role that owns it, or what it uses.
    """

    kind: str
    subject: str
    name: str
    owner: str
    found: str

    def __str__(self) -> str:
        return f"{self.subject} ({self.found})"


def foreign_objects(session: Session, installer: str | None = None) -> list[ForeignObject]:
    """What is not of `installer`, by default the session's own role. Reads the catalog alone."""
    rows = session.execute("schema/foreign_objects", installer=installer)
    return [ForeignObject(row.kind, row.subject, row.name, row.owner, row.found) for row in rows]


def untrusted(found: Iterable[ForeignObject], trust: Collection[str]) -> list[ForeignObject]:
    """Those of the objects that `trust` does not name. Raises InvalidRequest for a name of no such object."""
    objects = list(found)
    subjects = {one.subject for one in objects}
    for name in checked_trust(trust):
        if name not in subjects:
            known = f": name one of {', '.join(sorted(subjects))}" if subjects else ": leave it out"
            raise InvalidRequest("trust", name, f"the installing role owns it, or it is not there{known}")
    return [one for one in objects if one.subject not in trust]


def trusted_by_tracking(session: Session, foreign: Collection[ForeignObject]) -> list[str]:
    """The subjects of the views of tracked tables among foreign objects whose owners `track --trust` named.

    None where anything else is foreign: what an operator said is read from a table of the schema, and then that may be false.
    """
    if not foreign or not all(one.kind == "reached" and _TRACKED_VIEW.fullmatch(one.subject) for one in foreign):
        return []
    told = {(row.subject, row.role) for row in session.execute("schema/trusted_views")}
    known = {one.subject for one in foreign if (one.subject, one.owner) in told}
    return sorted(known - {one.subject for one in foreign if (one.subject, one.owner) not in told})


def checked_trust(trust: Collection[str]) -> Collection[str]:
    """Raises InvalidRequest for what can be no list of objects."""
    if isinstance(trust, str):
        raise InvalidRequest("trust", trust, "give a list of objects, such as ['schema dms']")
    for name in trust:
        if not isinstance(name, str) or not name.strip():
            raise InvalidRequest("trust", name, "name an object as the refusal names it, such as 'schema dms'")
    return trust


def refusal(objects: Iterable[ForeignObject]) -> tuple[str, str]:
    """The reason and the remedy of a refusal that names all of the objects."""
    listed = list(objects)
    return (
        f"schema dms is not all of the installing role: {'; '.join(map(str, listed))}",
        "Run it as the role that owns them. If that role is not the one to install, read each object, then drop it or change its "
        f"owner. To take one over as it is, name it: --trust '{listed[0].subject}'.",
    )


def with_trust(engine: str, check: str, trust: Collection[str]) -> str:
    """The text of a check that refuses, online and in a script, what `trust` does not name."""
    text = check.replace("{foreign_objects}", _body(engine)) if "{foreign_objects}" in check else check
    return text.replace("{trusted}", _literal(trust))  # the names last: what they hold is replaced by nothing


def _body(engine: str) -> str:
    """The query of foreign objects for the role that runs it, without its header."""
    lines = sql.text_of(engine, "queries/schema/foreign_objects").splitlines()
    return "\n".join(line for line in lines if not line.startswith("--")).replace(":installer", "NULL").rstrip(";\n")


def _literal(trust: Collection[str]) -> str:
    """The names as JSON that ends no quotation in either engine's SQL, whatever somebody has named an object."""
    text: str = json.dumps(sorted(checked_trust(trust)))
    for character in "$'":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text
