-- sql/sqlserver/tables/DocumentChangeEvent.v1.sql: the journal of document changes, one row a stamp.
-- No foreign key to Document: a cascade would erase the history that a consumer has not read yet. No identity: @@IDENTITY is the caller's.
CREATE TABLE dms.DocumentChangeEvent (
    ChangeVersion bigint       NOT NULL,
    DocumentId    bigint       NOT NULL,
    TransactionId bigint       NOT NULL,
    CreatedAt     datetime2(7) NOT NULL,
    ResourceKeyId smallint     NOT NULL,
    Operation     varchar(6)   NOT NULL,  -- insert or update
    CONSTRAINT PK_DocumentChangeEvent PRIMARY KEY (ChangeVersion, DocumentId)
);
CREATE INDEX IX_DocumentChangeEvent_Resource ON dms.DocumentChangeEvent (ResourceKeyId, ChangeVersion, DocumentId);
EXEC sys.sp_addextendedproperty N'dmsjournal', N'the journal of document changes', N'SCHEMA', N'dms', N'TABLE', N'DocumentChangeEvent';
-- drop: DROP TABLE dms.DocumentChangeEvent;
-- drop: DELETE FROM dms.JournalFloor WHERE Journal = N'DocumentChangeEvent';
