"""journals"""

from dmsjournal.schema.migrate import run

revision, down_revision, branch_labels, depends_on = "0003", "0002", None, None


def upgrade() -> None:
    run(
        "tables/hold_writers.v1",
        "tables/JournalFloor.v1",
        "tables/ChangeConsumer.v1",
        "procedures/check_consumer.v1",
        "procedures/lock_consumers.v1",
        "procedures/register_consumer.v1",
        "procedures/move_consumer.v1",
        "procedures/drop_consumer.v1",
        "tables/Lease.v1",
        "procedures/hold_lease.v1",
        "tables/DocumentChangeEvent.v1",
        "tables/DocumentChangeEvent.fill.v1",
        "tables/IdentityChangeEvent.v1",
        "tables/IdentityChangeEvent.fill.v1",
        "tables/KeyChangeEvent.v1",
        "triggers/document_stamp.v1",
        "tables/Document.fill.v1",
    )


def downgrade() -> None:
    run(
        "tables/hold_writers.v1",
        "triggers/document_stamp.drop",
        "tables/KeyChangeEvent.drop",
        "tables/IdentityChangeEvent.drop",
        "tables/DocumentChangeEvent.drop",
        "procedures/hold_lease.drop",
        "tables/Lease.drop",
        "procedures/drop_consumer.drop",
        "procedures/move_consumer.drop",
        "procedures/register_consumer.drop",
        "procedures/lock_consumers.drop",
        "procedures/check_consumer.drop",
        "tables/ChangeConsumer.drop",
        "tables/JournalFloor.drop",
    )
