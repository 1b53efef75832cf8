-- sql/postgres/tables/JournalFloor.v1.sql: the version up to which each journal has been pruned; 0 while nothing was.
CREATE TABLE dms.JournalFloor (
    Journal       varchar(64) CONSTRAINT PK_JournalFloor PRIMARY KEY,
    ChangeVersion bigint      NOT NULL,
    PrunedAt      timestamptz NULL
);
-- Where stamps were given already, what happened before is not known: each journal's floor is a stamp of its own, so that even who has
-- read up to the newest one is told. The tombstones' is in DocumentDeleteEvent.v1.sql.
INSERT INTO dms.JournalFloor (Journal, ChangeVersion)
SELECT journal, given.floor
FROM unnest(ARRAY['DocumentChangeEvent', 'IdentityChangeEvent', 'KeyChangeEvent']) AS listed (journal),
     (SELECT CASE WHEN (SELECT is_called FROM dms.ChangeVersionSequence)
                  THEN nextval('dms.ChangeVersionSequence') ELSE 0 END AS floor OFFSET 0) AS given;
COMMENT ON TABLE dms.JournalFloor IS 'dmsjournal: how far each journal has been pruned';
-- drop: DROP TABLE dms.JournalFloor;
