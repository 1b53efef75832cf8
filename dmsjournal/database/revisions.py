"""What the names of revisions say.

A revision of the journal is a number, 0006. A revision of an option is the option's name and the number that it needs, such as
max_dep_identity_version_0006 (a second one for the same number has a letter between them, max_dep_identity_version_b_0006). So
the rows of dms.alembic_version tell by themselves which is which, and what needs what; sql/*/checks/options.sql sees to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

REVISION = "0007"  # the newest migration; this program reads nothing older
_OPTION = re.compile(r"([a-z_]+?)(_[a-z])?_([0-9]{4})")


def option_of(revision: str) -> str | None:
    """The option that a revision is of; None for a revision of the journal's own."""
    found = _OPTION.fullmatch(revision)
    return found[1] if found else None


def needed_by(revision: str) -> str:
    """The journal's revision that an option's revision needs."""
    return revision[-4:]


def journal_revision(revisions: Iterable[str]) -> str | None:
    """The journal's own among the revisions of a database; None where there is none."""
    return next((revision for revision in revisions if option_of(revision) is None), None)
