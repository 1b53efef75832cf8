"""images"""

from dmsjournal.schema.migrate import run

revision, down_revision, branch_labels, depends_on = "images_0006", None, "images", None


def upgrade() -> None:
    run(
        "tables/hold_writers.v1",
        "tables/hold_bodies.v1",
        "tables/DocumentImage.v1",
        "triggers/document_cache_image.v1",
        "triggers/document_image.v1",
        "triggers/document_delete_first.v1",
        "triggers/document_delete_image.v1",
    )


def downgrade() -> None:
    run(
        "tables/hold_writers.v1",
        "tables/hold_bodies.v1",
        "triggers/document_delete_image.drop",
        "triggers/document_image.drop",
        "triggers/document_cache_image.drop",
        "tables/DocumentImage.drop",
    )
