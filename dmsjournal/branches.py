"""The migrations as branches: the journal's own, and one for each option that a database may have or not.

What their names say is in revisions.py. No revision has Alembic's `depends_on`: Alembic takes the row of what is depended on
away, and a script of the journal's next revision would then update a row that is not there, and say nothing.
"""

from __future__ import annotations

from alembic.script import ScriptDirectory
from alembic.script.revision import RevisionMap

JOURNAL = "journal"  # the label of the journal's own branch


class _Revisions(RevisionMap):
    """Revisions of which `head` is the journal's, whatever options there are. `heads` are all of them, as ever."""

    def get_current_head(self, branch_label: str | None = None) -> str | None:
        return super().get_current_head(branch_label or JOURNAL)


def with_options(scripts: ScriptDirectory) -> ScriptDirectory:
    """The same directory, before anything was read from it, with the options' migrations in it.

    They come first: of branches that depend on each other by no link, Alembic takes the first one down first, and up last.
    """
    scripts.version_locations = [f"{scripts.dir}/options", f"{scripts.dir}/versions"]
    scripts.revision_map = _Revisions(scripts._load_revisions)
    return scripts
