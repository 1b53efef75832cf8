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
-- drop: DROP TABLE dms.IdentityChangeEvent;
-- drop: DELETE FROM dms.JournalFloor WHERE Journal = N'IdentityChangeEvent';
