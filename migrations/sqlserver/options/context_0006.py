"""context"""

from dmsjournal.schema.migrate import run

revision, down_revision, branch_labels, depends_on = "context_0006", None, "context", None


def upgrade() -> None:
    run(
        "tables/hold_writers.v1",
        "tables/ChangeContext.v1",
        "procedures/set_context.v1",
        "procedures/set_context.public.v1",
        "triggers/document_delete_first.v1",
        "triggers/document_context.v1",
    )


def downgrade() -> None:
    run(
        "tables/hold_writers.v1",
        "triggers/document_context.drop",
        "procedures/set_context.drop",
        "tables/ChangeContext.drop",
    )
