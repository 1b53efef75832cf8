"""reading"""

from dmsjournal.schema.migrate import run

revision, down_revision, branch_labels, depends_on = "0006", "0005", None, None


def upgrade() -> None:
    run(
        "functions/horizon.v1",
        "views/ResourceChange.v1",
    )


def downgrade() -> None:
    run(
        "checks/no_options.v1",
        "views/ResourceChange.drop",
        "functions/horizon.drop",
    )
