-- sql/sqlserver/tables/JournalFloor.v1.sql: the version up to which each journal has been pruned; 0 while nothing was.
CREATE TABLE dms.JournalFloor (
    Journal       nvarchar(64) NOT NULL CONSTRAINT PK_JournalFloor PRIMARY KEY,
    ChangeVersion bigint       NOT NULL,
    PrunedAt      datetime2(7) NULL
);
-- Where stamps were given already, what happened before is not known: each journal's floor is a stamp of its own, so that even who has
-- read up to the newest one is told. The tombstones' is in DocumentDeleteEvent.v1.sql.
DECLARE @newest bigint, @floor bigint = 0;
EXEC dms.newest_stamp @newest OUTPUT;
IF @newest > 0
BEGIN
    SET @floor = NEXT VALUE FOR dms.ChangeVersionSequence;
    IF @floor <= @newest  -- after a restart: newest_stamp.v1.sql
        SET @floor = NEXT VALUE FOR dms.ChangeVersionSequence;
END;
INSERT INTO dms.JournalFloor (Journal, ChangeVersion)
VALUES (N'DocumentChangeEvent', @floor), (N'IdentityChangeEvent', @floor), (N'KeyChangeEvent', @floor);
EXEC sys.sp_addextendedproperty N'dmsjournal', N'how far each journal has been pruned', N'SCHEMA', N'dms', N'TABLE', N'JournalFloor';
-- drop: DROP TABLE dms.JournalFloor;
