"""max_dep_identity_version"""

from dmsjournal.schema.migrate import run

revision, down_revision, branch_labels, depends_on = "max_dep_identity_version_0006", None, "max_dep_identity_version", None


def upgrade() -> None:
    run(
        "tables/Document.MaxDepIdentityVersion.v1",
        "tables/MaxDepIdentityPending.v1",
        "functions/keep_max_dep.v1",
        "functions/note_identity.v1",
        "functions/raise_pending.v1",
        "functions/raise_at_commit.v1",
        "functions/fill_max_dep.v1",
        "triggers/max_dep_identity_version.v1",
        "views/ResourceChange.max_dep_identity_version.v1",
    )


def downgrade() -> None:
    run(
        "tables/hold_everybody.v1",
        "views/ResourceChange.v1",
        "triggers/max_dep_identity_version.drop",
        "functions/fill_max_dep.drop",
        "functions/raise_at_commit.drop",
        "functions/raise_pending.drop",
        "functions/note_identity.drop",
        "functions/keep_max_dep.drop",
        "tables/MaxDepIdentityPending.drop",
        "tables/Document.MaxDepIdentityVersion.drop",
    )
