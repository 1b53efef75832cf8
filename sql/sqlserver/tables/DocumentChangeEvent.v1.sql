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
-- Documents that are here already have their local version's event, below the floor, for readers that read all.
DECLARE @transaction_id bigint;
EXEC dms.this_transaction @transaction_id OUTPUT;
INSERT INTO dms.DocumentChangeEvent (ChangeVersion, DocumentId, ResourceKeyId, Operation, TransactionId, CreatedAt)
SELECT CASE WHEN ContentVersion > IdentityVersion THEN ContentVersion ELSE IdentityVersion END, DocumentId, ResourceKeyId, 'insert',
       @transaction_id,
       CASE WHEN ContentVersion > IdentityVersion THEN ContentLastModifiedAt ELSE IdentityLastModifiedAt END
FROM dms.Document
WHERE ContentVersion > 0 OR IdentityVersion > 0;
