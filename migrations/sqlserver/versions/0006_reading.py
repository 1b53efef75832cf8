"""reading"""

from dmsjournal.schema.migrate import run

revision, down_revision, branch_labels, depends_on = "0006", "0005", None, None


def upgrade() -> None:
    run(
        "procedures/is_floor_held.v1",
        "procedures/oldest_floor.v1",
        "procedures/horizon.v1",
        "views/ResourceChange.v1",
    )


def downgrade() -> None:
    run(
        "checks/no_options.v1",
        "views/ResourceChange.drop",
        "procedures/horizon.drop",
        "procedures/oldest_floor.drop",
        "procedures/is_floor_held.drop",
    )
