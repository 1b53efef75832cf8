"""documents"""

from dmsjournal.schema.migrate import run

revision, down_revision, branch_labels, depends_on = "0001", None, "journal", None


def upgrade() -> None:
    run(
        "tables/alembic_version.v1",
        "tables/ResourceKey.v1",
        "tables/Document.v1",
        "tables/DocumentCache.v1",
        "tables/ReferenceEdge.v1",
        "tables/ChangeVersionSequence.v1",
    )


def downgrade() -> None:
    run(
        "tables/documents.drop",
    )
