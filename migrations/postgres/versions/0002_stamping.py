"""stamping"""

from dmsjournal.schema.migrate import run

revision, down_revision, branch_labels, depends_on = "0002", "0001", None, None


def upgrade() -> None:
    run(
        "tables/hold_writers.v1",
        "functions/held_floors.v1",
        "functions/is_own_row.v1",
        "functions/enter_change.v1",
        "functions/enter_statement.v1",
        "functions/stamp_insert.v1",
        "functions/stamp_update.v1",
        "triggers/document_stamp.v1",
    )


def downgrade() -> None:
    run(
        "tables/hold_everybody.v1",
        "triggers/document_stamp.drop",
        "functions/stamp_update.drop",
        "functions/stamp_insert.drop",
        "functions/enter_statement.drop",
        "functions/enter_change.drop",
        "functions/is_own_row.drop",
        "functions/held_floors.drop",
    )
