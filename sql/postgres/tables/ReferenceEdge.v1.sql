-- sql/postgres/tables/ReferenceEdge.v1.sql: the parent's representation embeds the child's identity (or a descriptor's URI).
-- Deleting a parent takes its edges along. Deleting a referenced child is refused: otherwise its parents' derived versions would
-- silently fall. Never deferred: an edge must find its child when it stamps the parent. The parent's constraint comes first, by its
-- name too (a restore goes by names), so that a document which refers to itself can be deleted.
CREATE TABLE IF NOT EXISTS dms.ReferenceEdge (
    ParentDocumentId    bigint      NOT NULL
                        CONSTRAINT FK_ReferenceEdge_Parent REFERENCES dms.Document (DocumentId) ON DELETE CASCADE,
    ChildDocumentId     bigint      NOT NULL
                        CONSTRAINT FK_ReferenceEdge_Referenced REFERENCES dms.Document (DocumentId),
    IsIdentityComponent boolean     NOT NULL DEFAULT false,
    ParentResourceKeyId smallint    NOT NULL,
    CreatedAt           timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT PK_ReferenceEdge PRIMARY KEY (ParentDocumentId, ChildDocumentId)
);
CREATE INDEX IF NOT EXISTS IX_ReferenceEdge_Child
    ON dms.ReferenceEdge (ChildDocumentId, ParentResourceKeyId, ParentDocumentId);
COMMENT ON TABLE dms.ReferenceEdge IS 'dmsjournal: which document refers to which';
