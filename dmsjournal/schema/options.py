"""The migrations as branches: the journal's own, and one for each option that a database may have or not.

What their names say is in revisions.py. No revision has Alembic's `depends_on`: Alembic takes the row of what is depended on
away, and a script of the journal's next revision would then update a row that is not there, and say nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

from alembic.script import ScriptDirectory
from alembic.script.revision import RevisionMap

from dmsjournal.database.revisions import option_of

JOURNAL = "journal"  # the label of the journal's own branch


class _Revisions(RevisionMap):
    """Revisions of which `head` is the journal's, whatever options there are; `heads` are its and the installed options'."""

    installed: frozenset[str] = frozenset()  # options

    def get_current_head(self, branch_label: str | None = None) -> str | None:
        return super().get_current_head(branch_label or JOURNAL)

    def installable_heads(self) -> tuple[str, ...]:
        """The heads of the journal and of the options that the database has. The other options were not asked for."""
        return tuple(head for head in self.heads if option_of(head) in {None, *self.installed})

    def _resolve_revision_number(self, id_):  # type: ignore[no-untyped-def]  # Alembic has no other place for what `heads` are
        return (self.installable_heads(), None) if id_ == "heads" else super()._resolve_revision_number(id_)


class _Scripts(ScriptDirectory):
    """The directory of a command of Alembic's, whose `check` and `current --check-heads` ask it for the heads."""

    def get_heads(self, consider_depends_on: bool = False) -> list[str]:
        return list(self.revision_map.installable_heads())  # type: ignore[attr-defined]


def with_options(scripts: ScriptDirectory) -> ScriptDirectory:
    """The same directory, before anything was read from it, with the options' migrations in it.

    They come first: of branches that depend on each other by no link, Alembic takes the first one down first, and up last.
    """
    scripts.version_locations = [f"{scripts.dir}/options", f"{scripts.dir}/versions"]
    scripts.revision_map = _Revisions(scripts._load_revisions)
    scripts.__class__ = _Scripts
    return scripts


def note_installed(scripts: ScriptDirectory, revisions: Iterable[str]) -> None:
    """Tells a directory of `with_options` which revisions its database has."""
    scripts.revision_map.installed = frozenset(name for revision in revisions if (name := option_of(revision)))  # type: ignore[attr-defined]
