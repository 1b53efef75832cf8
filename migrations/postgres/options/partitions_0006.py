"""partitions"""

from dmsjournal.schema.migrate import run

revision, down_revision, branch_labels, depends_on = "partitions_0006", None, "partitions", None


def upgrade() -> None:
    run(
        "tables/hold_everybody.v1",
        "views/JournalPartition.v1",
        "tables/PartitionSettings.v1",
        "tables/KnownPartition.v1",
        "functions/note_partitions.v1",
        "functions/rename_partition.v1",
        "functions/make_partition.v1",
        "functions/forget_bounds.v1",
        "functions/close_partition.v1",
        "functions/ensure_partitions.v1",
        "functions/pieces_of.v1",
        "functions/begin_split.v1",
        "functions/is_read_yet.v1",
        "functions/split_partition.v1",
        "tables/partitions.v1",
        "functions/drop_partition.v1",
    )


def downgrade() -> None:
    run(
        "tables/hold_everybody.v1",
        "tables/partitions.drop",
        "functions/drop_partition.drop",
        "functions/split_partition.drop",
        "functions/is_read_yet.drop",
        "functions/begin_split.drop",
        "functions/pieces_of.drop",
        "functions/ensure_partitions.drop",
        "functions/close_partition.drop",
        "functions/forget_bounds.drop",
        "functions/make_partition.drop",
        "functions/rename_partition.drop",
        "functions/note_partitions.drop",
        "tables/KnownPartition.drop",
        "tables/PartitionSettings.drop",
        "views/JournalPartition.drop",
    )
