-- sql/postgres/tables/ChangeConsumer.v1.sql: how far each registered consumer has read; the cursor is exclusive. With it the last event at or
-- below it, null where there was none: a database that was restored to an earlier state holds another one (invariant 9).
-- A row belongs to the role that registered it: functions/keep_consumer.v1.sql. Owner is a name, which a dump carries to another cluster.
-- A terminal must be able to print a name: no control character, no format character (bidi controls are such), no line end.
CREATE TABLE dms.ChangeConsumer (
    Name               varchar(256) CONSTRAINT PK_ChangeConsumer PRIMARY KEY
                       CONSTRAINT CK_ChangeConsumer_Name CHECK (Name <> '' AND Name COLLATE "C" !~
                           '[\u0001-\u001F\u007F-\u00A0\u00AD\u061C\u1680\u180E\u2000-\u200F\u2028-\u202F\u205F-\u206F\u3000\uE000-\uF8FF\uFEFF\uFFF9-\uFFFB\U000E0000-\U000E0FFF]'),
    ChangeVersion      bigint       NOT NULL CONSTRAINT CK_ChangeConsumer_ChangeVersion CHECK (ChangeVersion >= 0),
    DocumentId         bigint       NOT NULL,
    UpdatedAt          timestamptz  NOT NULL DEFAULT clock_timestamp()
                       CONSTRAINT CK_ChangeConsumer_UpdatedAt CHECK (isfinite(UpdatedAt)),
    EventVersion       bigint       NULL,
    EventDocumentId    bigint       NULL,
    EventTransactionId bigint       NULL,
    EventAt            timestamptz  NULL,
    FeedToken          varchar(4096) NULL,  -- of one that reads the feed; null for others, and after one was moved by hand
    Owner              varchar(128) NOT NULL DEFAULT coalesce(nullif(current_setting('role'), 'none'), session_user)
);
COMMENT ON TABLE dms.ChangeConsumer IS 'dmsjournal: how far each registered consumer has read';
-- drop: DROP TABLE dms.ChangeConsumer;
