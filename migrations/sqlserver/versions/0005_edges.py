"""edges"""

from dmsjournal.schema.migrate import run

revision, down_revision, branch_labels, depends_on = "0005", "0004", None, None


def upgrade() -> None:
    run(
        "tables/hold_writers.v1",
        "tables/ResourceDependency.v1",
        "tables/ResourceDependency.fill.v1",
        "tables/JournalFloor.raised.v1",
        "triggers/reference_edge.v1",
        "tables/TruncateGuard.v1",
    )


def downgrade() -> None:
    run(
        "tables/hold_writers.v1",
        "tables/TruncateGuard.drop",
        "triggers/reference_edge.drop",
        "tables/ResourceDependency.drop",
    )
