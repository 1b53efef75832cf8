-- sql/sqlserver/tables/IdentityChangeEvent.v1.sql: the journal of identity changes, one row an identity stamp given by an update.
CREATE TABLE dms.IdentityChangeEvent (
    ChangeVersion bigint       NOT NULL,
    DocumentId    bigint       NOT NULL,
    CreatedAt     datetime2(7) NOT NULL,
    ResourceKeyId smallint     NOT NULL,
    CONSTRAINT PK_IdentityChangeEvent PRIMARY KEY (ChangeVersion, DocumentId)
);
CREATE INDEX IX_IdentityChangeEvent_Resource ON dms.IdentityChangeEvent (ResourceKeyId, ChangeVersion, DocumentId);
EXEC sys.sp_addextendedproperty N'dmsjournal', N'the journal of identity changes', N'SCHEMA', N'dms', N'TABLE', N'IdentityChangeEvent';
-- Where documents are here already: an identity stamp that is newer than a parent is that parent's witness (invariant 4).
INSERT INTO dms.IdentityChangeEvent (ChangeVersion, DocumentId, ResourceKeyId, CreatedAt)
SELECT c.IdentityVersion, c.DocumentId, c.ResourceKeyId, c.IdentityLastModifiedAt
FROM dms.Document AS c
WHERE EXISTS (
    SELECT * FROM dms.ReferenceEdge AS e JOIN dms.Document AS p ON p.DocumentId = e.ParentDocumentId
    WHERE e.ChildDocumentId = c.DocumentId AND p.ContentVersion < c.IdentityVersion AND p.IdentityVersion < c.IdentityVersion);
