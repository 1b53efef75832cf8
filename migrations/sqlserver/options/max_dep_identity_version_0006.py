"""max_dep_identity_version"""

from dmsjournal.schema.migrate import run

revision, down_revision, branch_labels, depends_on = "max_dep_identity_version_0006", None, "max_dep_identity_version", None


def upgrade() -> None:
    run(
        "tables/Document.MaxDepIdentityVersion.v1",
        "tables/MaxDepIdentityPending.v1",
        "triggers/document_stamped_parents.v1",
        "triggers/reference_edge_stamped_parents.v1",
        "procedures/fill_max_dep.v1",
        "views/ResourceChange.drop",
        "views/ResourceChange.max_dep_identity_version.v1",
    )


def downgrade() -> None:
    run(
        "tables/hold_writers.v1",
        "views/ResourceChange.drop",
        "procedures/fill_max_dep.drop",
        "triggers/reference_edge_stamped_parents.drop",
        "triggers/document_stamped_parents.drop",
        "tables/MaxDepIdentityPending.drop",
        "tables/Document.MaxDepIdentityVersion.drop",
        "views/ResourceChange.v1",
    )
