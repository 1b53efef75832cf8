"""images"""

from dmsjournal.schema.migrate import run

revision, down_revision, branch_labels, depends_on = "images_0006", None, "images", None


def upgrade() -> None:
    run(
        "tables/DocumentImage.v1",
        "functions/keep_image.v1",
        "functions/pair_image.v1",
        "functions/bury_image.v1",
        "triggers/images.v1",
    )


def downgrade() -> None:
    run(
        "tables/hold_everybody.v1",
        "triggers/images.drop",
        "functions/bury_image.drop",
        "functions/pair_image.drop",
        "functions/keep_image.drop",
        "tables/DocumentImage.drop",
    )
