-- sql/postgres/tables/IdentityChangeEvent.v1.sql: the journal of identity changes, one row an identity stamp given by an update.
CREATE TABLE dms.IdentityChangeEvent (
    ChangeVersion bigint      NOT NULL,
    DocumentId    bigint      NOT NULL,
    CreatedAt     timestamptz NOT NULL,
    ResourceKeyId smallint    NOT NULL,
    CONSTRAINT PK_IdentityChangeEvent PRIMARY KEY (ChangeVersion, DocumentId)
);
CREATE INDEX IX_IdentityChangeEvent_Resource ON dms.IdentityChangeEvent (ResourceKeyId, ChangeVersion, DocumentId);
COMMENT ON TABLE dms.IdentityChangeEvent IS 'dmsjournal: the journal of identity changes';
-- Where documents are here already: an identity stamp that is newer than a parent is that parent's witness (invariant 4).
INSERT INTO dms.IdentityChangeEvent (ChangeVersion, DocumentId, ResourceKeyId, CreatedAt)
SELECT c.IdentityVersion, c.DocumentId, c.ResourceKeyId, c.IdentityLastModifiedAt
FROM dms.Document AS c
WHERE EXISTS (
    SELECT FROM dms.ReferenceEdge AS e JOIN dms.Document AS p ON p.DocumentId = e.ParentDocumentId
    WHERE e.ChildDocumentId = c.DocumentId AND greatest(p.ContentVersion, p.IdentityVersion) < c.IdentityVersion
);
