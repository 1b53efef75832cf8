"""journals"""

from dmsjournal.schema.migrate import run

revision, down_revision, branch_labels, depends_on = "0003", "0002", None, None


def upgrade() -> None:
    run(
        "tables/hold_writers.v1",
        "tables/JournalFloor.v1",
        "tables/ChangeConsumer.v1",
        "functions/keep_consumer.v1",
        "triggers/consumer.v1",
        "functions/register_consumer.v1",
        "functions/move_consumer.v1",
        "functions/drop_consumer.v1",
        "tables/Lease.v1",
        "functions/hold_lease.v1",
        "tables/DocumentChangeEvent.v1",
        "tables/DocumentChangeEvent.fill.v1",
        "tables/IdentityChangeEvent.v1",
        "tables/IdentityChangeEvent.fill.v1",
        "tables/KeyChangeEvent.v1",
        "functions/journal_insert.v1",
        "functions/journal_update.v1",
        "functions/journal_identity.v1",
        "triggers/document_insert.v1",
        "triggers/document_update.v1",
        "triggers/document_identity.v1",
        "tables/Document.fill.v1",
    )


def downgrade() -> None:
    run(
        "tables/hold_everybody.v1",
        "triggers/document_identity.drop",
        "triggers/document_update.drop",
        "triggers/document_insert.drop",
        "functions/journal_identity.drop",
        "functions/journal_update.drop",
        "functions/journal_insert.drop",
        "tables/KeyChangeEvent.drop",
        "tables/IdentityChangeEvent.drop",
        "tables/DocumentChangeEvent.drop",
        "functions/hold_lease.drop",
        "tables/Lease.drop",
        "functions/drop_consumer.drop",
        "functions/move_consumer.drop",
        "functions/register_consumer.drop",
        "tables/ChangeConsumer.drop",
        "functions/keep_consumer.drop",
        "tables/JournalFloor.drop",
    )
