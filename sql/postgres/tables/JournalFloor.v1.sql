-- sql/postgres/tables/JournalFloor.v1.sql: the version up to which each journal has been pruned; 0 while nothing was.
CREATE TABLE dms.JournalFloor (
    Journal       varchar(64) CONSTRAINT PK_JournalFloor PRIMARY KEY,
    ChangeVersion bigint      NOT NULL,
    PrunedAt      timestamptz NULL
);
COMMENT ON TABLE dms.JournalFloor IS 'dmsjournal: how far each journal has been pruned';
