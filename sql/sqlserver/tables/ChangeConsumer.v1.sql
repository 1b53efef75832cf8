-- sql/sqlserver/tables/ChangeConsumer.v1.sql: how far each registered consumer has read; the cursor is exclusive. With it the last event at or
-- below it, null where there was none: a database that was restored to an earlier state holds another one (invariant 9).
CREATE TABLE dms.ChangeConsumer (
    Name               nvarchar(256) COLLATE Latin1_General_100_BIN2 NOT NULL CONSTRAINT PK_ChangeConsumer PRIMARY KEY,
    ChangeVersion      bigint        NOT NULL,
    DocumentId         bigint        NOT NULL,
    UpdatedAt          datetime2(7)  NOT NULL CONSTRAINT DF_ChangeConsumer_UpdatedAt DEFAULT SYSUTCDATETIME(),
    EventVersion       bigint        NULL,
    EventDocumentId    bigint        NULL,
    EventTransactionId bigint        NULL,
    EventAt            datetime2(7)  NULL,
    FeedToken          varchar(4096) NULL  -- of one that reads the feed; null for others, and after one was moved by hand
);
EXEC sys.sp_addextendedproperty N'dmsjournal', N'how far each registered consumer has read', N'SCHEMA', N'dms', N'TABLE', N'ChangeConsumer';
