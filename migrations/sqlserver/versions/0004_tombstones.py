"""tombstones"""

from dmsjournal.schema.migrate import run

revision, down_revision, branch_labels, depends_on = "0004", "0003", None, None


def upgrade() -> None:
    run(
        "tables/hold_writers.v1",
        "tables/DocumentDeleteEvent.v1",
        "triggers/document_delete.v1",
    )


def downgrade() -> None:
    run(
        "tables/hold_writers.v1",
        "triggers/document_delete.drop",
        "tables/DocumentDeleteEvent.drop",
    )
