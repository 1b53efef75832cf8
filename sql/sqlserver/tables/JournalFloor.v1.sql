-- sql/sqlserver/tables/JournalFloor.v1.sql: the version up to which each journal has been pruned; 0 while nothing was.
CREATE TABLE dms.JournalFloor (
    Journal       nvarchar(64) NOT NULL CONSTRAINT PK_JournalFloor PRIMARY KEY,
    ChangeVersion bigint       NOT NULL,
    PrunedAt      datetime2(7) NULL
);
-- Where stamps were given already, what happened before is not known: each journal's floor is a stamp of its own, so that even who has
-- read up to the newest one is told. The tombstones' is in DocumentDeleteEvent.v1.sql.
DECLARE @floor bigint;
EXEC dms.newest_stamp @floor OUTPUT;
IF @floor > 0
    SET @floor = NEXT VALUE FOR dms.ChangeVersionSequence;
INSERT INTO dms.JournalFloor (Journal, ChangeVersion)
VALUES (N'DocumentChangeEvent', @floor), (N'IdentityChangeEvent', @floor), (N'KeyChangeEvent', @floor);
EXEC sys.sp_addextendedproperty N'dmsjournal', N'how far each journal has been pruned', N'SCHEMA', N'dms', N'TABLE', N'JournalFloor';
