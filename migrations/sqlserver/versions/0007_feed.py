"""feed"""

from dmsjournal.schema.migrate import run

revision, down_revision, branch_labels, depends_on = "0007", "0006", None, None


def upgrade() -> None:
    run(
        "tables/FeedDatabase.v1",
        "tables/FeedGeneration.v1",
        "tables/DocumentDeleteEvent.document.v1",
    )


def downgrade() -> None:
    run(
        "tables/DocumentDeleteEvent.document.drop",
        "tables/FeedGeneration.drop",
        "tables/FeedDatabase.drop",
    )
