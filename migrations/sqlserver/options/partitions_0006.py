"""partitions"""

from dmsjournal.schema.migrate import run

revision, down_revision, branch_labels, depends_on = "partitions_0006", None, "partitions", None


def upgrade() -> None:
    run(
        "tables/hold_writers.v1",
        "procedures/rebuild_journals.v1",
        "tables/partitions.v1",
        "views/JournalPartition.v1",
        "tables/PartitionSettings.v1",
        "procedures/ensure_partitions.v1",
        "procedures/drop_partition.v1",
    )


def downgrade() -> None:
    run(
        "tables/hold_writers.v1",
        "procedures/drop_partition.drop",
        "procedures/ensure_partitions.drop",
        "tables/PartitionSettings.drop",
        "views/JournalPartition.drop",
        "tables/partitions.drop",
        "procedures/rebuild_journals.drop",
    )
