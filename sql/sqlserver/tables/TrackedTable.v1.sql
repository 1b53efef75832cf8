-- sql/sqlserver/tables/TrackedTable.v1.sql: option tracking: the tables of others whose rows are documents (docs/dba/track.md).
-- RelationId and TableName are as of the last generation; the table's own triggers tell which one it is (functions/tracked_relation.v1.sql).
-- Properties: what the key's columns are called in KeyValues, by their numbers, whatever their names and places in the key are now. Lists are JSON.
IF OBJECT_ID(N'dms.ResourceChange') IS NULL
    THROW 50006, N'option tracking needs revision 0006. Upgrade to it first.', 1;
CREATE TABLE dms.TrackedTable (
    TrackedTableId smallint IDENTITY (1, 1) NOT NULL CONSTRAINT PK_TrackedTable PRIMARY KEY,
    ResourceKeyId  smallint       NOT NULL CONSTRAINT UX_TrackedTable_ResourceKeyId UNIQUE
                   CONSTRAINT FK_TrackedTable_ResourceKey REFERENCES dms.ResourceKey (ResourceKeyId),
    RelationId     int            NOT NULL,
    TableName      nvarchar(600)  NOT NULL,  -- schema.table, in brackets where a name needs it
    KeyName        nvarchar(128)  NULL,      -- of a unique constraint or index; null: the primary key
    Properties     nvarchar(max)  NOT NULL,
    ShownColumns   nvarchar(max)  NULL,      -- null: the key, and what foreign keys of tracked tables refer to
    WatchedColumns nvarchar(max)  NULL,      -- null: all
    AllColumns     nvarchar(max)  NOT NULL,  -- of the table at the last generation: its columns' numbers, names and types
    KeepsBodies    bit            NOT NULL,
    FilledKey      nvarchar(max)  NULL,      -- how far a fill has come over the rows, in the pass that it is in
    SeenRows       bigint         NOT NULL CONSTRAINT DF_TrackedTable_SeenRows DEFAULT 0,    -- rows that the pass has looked at
    FilledRows     bigint         NOT NULL CONSTRAINT DF_TrackedTable_FilledRows DEFAULT 0,  -- of these, rows that got a document, or were locked
    BatchRows      int            NULL,      -- of the last batch: rows that it looked at, documents that it made, rows that it passed by
    BatchMade      int            NULL,
    BatchPassed    int            NULL,
    FilledDocument bigint         NULL,      -- in the last pass, over the documents: how far it has come
    IsLinked       bit            NOT NULL,  -- 0: that pass makes the edges of documents that were there before
    IsCurrent      bit            NOT NULL,  -- 0: that pass stamps them, since their rows may have changed unseen
    FilledAt       datetime2(7)   NULL,      -- null: the fill has not come to its end
    CreatedAt      datetime2(7)   NOT NULL CONSTRAINT DF_TrackedTable_CreatedAt DEFAULT SYSUTCDATETIME()
);
EXEC sys.sp_addextendedproperty N'dmsjournal', N'the tables of others that are journaled', N'SCHEMA', N'dms', N'TABLE', N'TrackedTable';
-- Documents that were made for a row which another one refers to, before a fill has reached it: their edges are made by the last pass.
CREATE TABLE dms.TrackedLate (
    TrackedTableId smallint NOT NULL,
    DocumentId     bigint   NOT NULL,
    CONSTRAINT PK_TrackedLate PRIMARY KEY (TrackedTableId, DocumentId)
);
EXEC sys.sp_addextendedproperty N'dmsjournal', N'documents of tracked tables whose edges are made later', N'SCHEMA', N'dms', N'TABLE', N'TrackedLate';
-- drop: DROP TABLE dms.TrackedLate;
-- drop: DROP TABLE dms.TrackedTable;
