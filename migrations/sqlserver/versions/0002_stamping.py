"""stamping"""

from dmsjournal.schema.migrate import run

revision, down_revision, branch_labels, depends_on = "0002", "0001", None, None


def upgrade() -> None:
    run(
        "procedures/newest_stamp.v1",
        "procedures/this_transaction.v1",
        "tables/FloorSecret.v1",
        "procedures/lock_name.v1",
        "procedures/remembered_floor.v1",
        "procedures/enter_change.v1",
        "procedures/lock_keys.v1",
    )


def downgrade() -> None:
    run(
        "procedures/lock_keys.drop",
        "procedures/enter_change.drop",
        "procedures/remembered_floor.drop",
        "procedures/lock_name.drop",
        "tables/FloorSecret.drop",
        "procedures/this_transaction.drop",
        "procedures/newest_stamp.drop",
    )
