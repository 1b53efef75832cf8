-- sql/postgres/tables/ChangeConsumer.v1.sql: how far each registered consumer has read; the cursor is exclusive.
CREATE TABLE dms.ChangeConsumer (
    Name          varchar(256) CONSTRAINT PK_ChangeConsumer PRIMARY KEY,
    ChangeVersion bigint       NOT NULL,
    DocumentId    bigint       NOT NULL,
    UpdatedAt     timestamptz  NOT NULL DEFAULT clock_timestamp()
);
COMMENT ON TABLE dms.ChangeConsumer IS 'dmsjournal: how far each registered consumer has read';
