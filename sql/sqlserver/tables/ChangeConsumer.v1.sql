-- sql/sqlserver/tables/ChangeConsumer.v1.sql: how far each registered consumer has read; the cursor is exclusive. With it the last event at or
-- below it, null where there was none: a database that was restored to an earlier state holds another one (invariant 9).
-- A row belongs to the user that registered it: procedures/check_consumer.v1.sql. Nobody else has a right to write here.
-- A terminal must be able to print a name: no control character, no format character (bidi controls are such), no line end.
CREATE TABLE dms.ChangeConsumer (
    Name               nvarchar(256) COLLATE Latin1_General_100_BIN2 NOT NULL CONSTRAINT PK_ChangeConsumer PRIMARY KEY,
    ChangeVersion      bigint        NOT NULL CONSTRAINT CK_ChangeConsumer_ChangeVersion CHECK (ChangeVersion >= 0),
    DocumentId         bigint        NOT NULL,
    UpdatedAt          datetime2(7)  NOT NULL CONSTRAINT DF_ChangeConsumer_UpdatedAt DEFAULT SYSUTCDATETIME()
                       CONSTRAINT CK_ChangeConsumer_UpdatedAt CHECK (YEAR(UpdatedAt) < 9000),
    EventVersion       bigint        NULL,
    EventDocumentId    bigint        NULL,
    EventTransactionId bigint        NULL,
    EventAt            datetime2(7)  NULL,
    FeedToken          varchar(4096) NULL,  -- of one that reads the feed; null for others, and after one was moved by hand
    Owner              nvarchar(128) NOT NULL CONSTRAINT DF_ChangeConsumer_Owner DEFAULT USER_NAME(),
    CONSTRAINT CK_ChangeConsumer_Name CHECK (Name <> N'' AND CHARINDEX(NCHAR(0), Name) = 0 AND Name NOT LIKE  -- code units, in a binary collation
        N'%[' + NCHAR(1) + N'-' + NCHAR(31) + NCHAR(127) + N'-' + NCHAR(160) + NCHAR(173) + NCHAR(1564) + NCHAR(5760) + NCHAR(6158)
        + NCHAR(8192) + N'-' + NCHAR(8207) + NCHAR(8232) + N'-' + NCHAR(8239) + NCHAR(8287) + N'-' + NCHAR(8303) + NCHAR(12288)
        + NCHAR(56128) + N'-' + NCHAR(56131) + NCHAR(57344) + N'-' + NCHAR(63743) + NCHAR(65279) + NCHAR(65529) + N'-' + NCHAR(65531) + N']%')
);
EXEC sys.sp_addextendedproperty N'dmsjournal', N'how far each registered consumer has read', N'SCHEMA', N'dms', N'TABLE', N'ChangeConsumer';
-- drop: DROP TABLE dms.ChangeConsumer;
