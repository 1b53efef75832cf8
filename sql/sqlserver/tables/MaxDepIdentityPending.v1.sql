-- sql/sqlserver/tables/MaxDepIdentityPending.v1.sql: what is to be done before Document.MaxDepIdentityVersion is exact; empty where it is.
-- Readers look here, and go by the children where there is a row. Documents above DocumentId (exclusive) have not been filled yet; one row
-- at most. (IsFill is always 1 here: a rename raises its parents at once. PostgreSQL's can leave them to the next one.)
CREATE TABLE dms.MaxDepIdentityPending (
    DocumentId bigint NOT NULL CONSTRAINT PK_MaxDepIdentityPending PRIMARY KEY,
    IsFill     bit    NOT NULL
);
EXEC sys.sp_addextendedproperty N'dmsjournal', N'what is to be done before MaxDepIdentityVersion is exact', N'SCHEMA', N'dms', N'TABLE', N'MaxDepIdentityPending';
IF EXISTS (SELECT * FROM dms.Document)
    INSERT INTO dms.MaxDepIdentityPending (DocumentId, IsFill) VALUES (CAST(-9223372036854775808 AS bigint), 1);
GO
CREATE INDEX IX_Document_MaxDepIdentityVersion ON dms.Document (ResourceKeyId, MaxDepIdentityVersion, DocumentId);
-- drop: DROP INDEX IX_Document_MaxDepIdentityVersion ON dms.Document;
-- drop: DROP TABLE dms.MaxDepIdentityPending;
