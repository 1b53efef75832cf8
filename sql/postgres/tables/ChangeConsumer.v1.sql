-- sql/postgres/tables/ChangeConsumer.v1.sql: how far each registered consumer has read; the cursor is exclusive. With it the last event at or
-- below it, null where there was none: a database that was restored to an earlier state holds another one (invariant 9).
CREATE TABLE dms.ChangeConsumer (
    Name               varchar(256) CONSTRAINT PK_ChangeConsumer PRIMARY KEY,
    ChangeVersion      bigint       NOT NULL,
    DocumentId         bigint       NOT NULL,
    UpdatedAt          timestamptz  NOT NULL DEFAULT clock_timestamp(),
    EventVersion       bigint       NULL,
    EventDocumentId    bigint       NULL,
    EventTransactionId bigint       NULL,
    EventAt            timestamptz  NULL,
    FeedToken          varchar(4096) NULL  -- of one that reads the feed; null for others, and after one was moved by hand
);
COMMENT ON TABLE dms.ChangeConsumer IS 'dmsjournal: how far each registered consumer has read';
