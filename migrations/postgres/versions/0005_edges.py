"""edges"""

from dmsjournal.schema.migrate import run

revision, down_revision, branch_labels, depends_on = "0005", "0004", None, None


def upgrade() -> None:
    run(
        "tables/hold_writers.v1",
        "tables/ResourceDependency.v1",
        "tables/ResourceDependency.fill.v1",
        "tables/JournalFloor.raised.v1",
        "triggers/truncate_dependencies.v1",
        "functions/parent_resource.v1",
        "functions/keep_parent_resource.v1",
        "functions/stamp_parents.v1",
        "functions/stamp_repointed_parents.v1",
        "triggers/reference_edge.v1",
    )


def downgrade() -> None:
    run(
        "tables/hold_everybody.v1",
        "triggers/reference_edge.drop",
        "functions/stamp_repointed_parents.drop",
        "functions/stamp_parents.drop",
        "functions/keep_parent_resource.drop",
        "functions/parent_resource.drop",
        "triggers/truncate_dependencies.drop",
        "tables/ResourceDependency.drop",
    )
