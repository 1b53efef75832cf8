-- sql/postgres/tables/DocumentChangeEvent.v1.sql: the journal of document changes, one row a stamp.
-- No foreign key to Document: a cascade would erase the history that a consumer has not read yet.
CREATE TABLE dms.DocumentChangeEvent (
    ChangeVersion bigint      NOT NULL,
    DocumentId    bigint      NOT NULL,
    TransactionId bigint      NOT NULL,
    CreatedAt     timestamptz NOT NULL,
    ResourceKeyId smallint    NOT NULL,
    Operation     varchar(6)  NOT NULL,  -- insert or update
    CONSTRAINT PK_DocumentChangeEvent PRIMARY KEY (ChangeVersion, DocumentId)
);
CREATE INDEX IX_DocumentChangeEvent_Resource ON dms.DocumentChangeEvent (ResourceKeyId, ChangeVersion, DocumentId);
COMMENT ON TABLE dms.DocumentChangeEvent IS 'dmsjournal: the journal of document changes';
-- Where documents are here already, what happened to them before is not known: the floor is the newest stamp that was given, and
-- each has its local version's event, for readers that read all.
INSERT INTO dms.JournalFloor (Journal, ChangeVersion)
SELECT 'DocumentChangeEvent', coalesce(pg_sequence_last_value('dms.ChangeVersionSequence'), 0);
INSERT INTO dms.DocumentChangeEvent (ChangeVersion, DocumentId, ResourceKeyId, Operation, TransactionId, CreatedAt)
SELECT greatest(ContentVersion, IdentityVersion), DocumentId, ResourceKeyId, 'insert', pg_current_xact_id()::text::bigint,
       greatest(ContentLastModifiedAt, IdentityLastModifiedAt)
FROM dms.Document
WHERE greatest(ContentVersion, IdentityVersion) > 0;
