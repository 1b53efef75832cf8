-- sql/sqlserver/tables/KeyChangeEvent.v1.sql: a document's key values before and after, at the identity stamp of the change.
CREATE TABLE dms.KeyChangeEvent (
    ChangeVersion bigint           NOT NULL CONSTRAINT PK_KeyChangeEvent PRIMARY KEY,
    DocumentId    bigint           NOT NULL,
    DocumentUuid  uniqueidentifier NOT NULL,
    CreatedAt     datetime2(7)     NOT NULL,
    ResourceKeyId smallint         NOT NULL,
    OldKeyValues  nvarchar(max) COLLATE Latin1_General_100_BIN2 NULL,
    NewKeyValues  nvarchar(max) COLLATE Latin1_General_100_BIN2 NULL
);
CREATE INDEX IX_KeyChangeEvent_Resource ON dms.KeyChangeEvent (ResourceKeyId, ChangeVersion);
-- A window lists a document's first old and last new values: both are found by the document.
CREATE INDEX IX_KeyChangeEvent_Document ON dms.KeyChangeEvent (DocumentId, ChangeVersion);
EXEC sys.sp_addextendedproperty N'dmsjournal', N'key values before and after', N'SCHEMA', N'dms', N'TABLE', N'KeyChangeEvent';
-- drop: DROP TABLE dms.KeyChangeEvent;
-- drop: DELETE FROM dms.JournalFloor WHERE Journal = N'KeyChangeEvent';
