"""stamping"""

from dmsjournal.migrating import run

revision, down_revision, branch_labels, depends_on = "0002", "0001", None, None


def upgrade() -> None:
    run(
        "procedures/newest_stamp.v1",
        "procedures/this_transaction.v1",
        "procedures/remembered_floor.v1",
        "procedures/enter_change.v1",
    )


def downgrade() -> None:
    run(
        "procedures/enter_change.drop",
        "procedures/remembered_floor.drop",
        "procedures/this_transaction.drop",
        "procedures/newest_stamp.drop",
    )
