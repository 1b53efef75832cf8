"""${message}"""

from dmsjournal.schema.migrate import run

revision, down_revision, branch_labels, depends_on = ${repr(up_revision)}, ${repr(down_revision)}, ${repr(branch_labels)}, ${repr(depends_on)}


def upgrade() -> None:
    run()


def downgrade() -> None:
    run()
