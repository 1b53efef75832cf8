"""context"""

from dmsjournal.schema.migrate import run

revision, down_revision, branch_labels, depends_on = "context_0006", None, "context", None


def upgrade() -> None:
    run(
        "tables/ChangeContext.v1",
        "functions/note_context.v1",
        "functions/close_context.v1",
        "triggers/context.v1",
    )


def downgrade() -> None:
    run(
        "tables/hold_everybody.v1",
        "triggers/context.drop",
        "functions/close_context.drop",
        "functions/note_context.drop",
        "tables/ChangeContext.drop",
    )
