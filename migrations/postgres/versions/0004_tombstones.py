"""tombstones"""

from dmsjournal.schema.migrate import run

revision, down_revision, branch_labels, depends_on = "0004", "0003", None, None


def upgrade() -> None:
    run(
        "tables/hold_writers.v1",
        "tables/DocumentDeleteEvent.v1",
        "functions/journal_delete.v1",
        "triggers/document_delete.v1",
        "functions/refuse_truncate.v1",
        "triggers/truncate_documents.v1",
        "triggers/truncate_journals.v1",
    )


def downgrade() -> None:
    run(
        "tables/hold_everybody.v1",
        "triggers/truncate_journals.drop",
        "triggers/truncate_documents.drop",
        "functions/refuse_truncate.drop",
        "triggers/document_delete.drop",
        "functions/journal_delete.drop",
        "tables/DocumentDeleteEvent.drop",
    )
