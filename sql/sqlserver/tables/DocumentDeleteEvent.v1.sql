-- sql/sqlserver/tables/DocumentDeleteEvent.v1.sql: tombstones, each with a stamp of its own above all of the document's (invariant 7).
CREATE TABLE dms.DocumentDeleteEvent (
    ChangeVersion bigint           NOT NULL CONSTRAINT PK_DocumentDeleteEvent PRIMARY KEY,
    DocumentId    bigint           NOT NULL,
    DocumentUuid  uniqueidentifier NOT NULL,
    TransactionId bigint           NOT NULL,
    CreatedAt     datetime2(7)     NOT NULL,
    ResourceKeyId smallint         NOT NULL,
    KeyValues     nvarchar(max) COLLATE Latin1_General_100_BIN2 NULL
);
CREATE INDEX IX_DocumentDeleteEvent_Resource ON dms.DocumentDeleteEvent (ResourceKeyId, ChangeVersion);
-- A uuid names one lifetime: the writer looks here before it gives a re-created document the uuid that a caller wishes.
CREATE INDEX IX_DocumentDeleteEvent_DocumentUuid ON dms.DocumentDeleteEvent (DocumentUuid);
EXEC sys.sp_addextendedproperty N'dmsjournal', N'tombstones', N'SCHEMA', N'dms', N'TABLE', N'DocumentDeleteEvent';
-- Deletes from before this journal are not in it: its floor is a stamp of its own, as JournalFloor.v1.sql tells.
DECLARE @newest bigint, @floor bigint = 0;
EXEC dms.newest_stamp @newest OUTPUT;
IF @newest > 0
BEGIN
    SET @floor = NEXT VALUE FOR dms.ChangeVersionSequence;
    IF @floor <= @newest  -- after a restart: newest_stamp.v1.sql
        SET @floor = NEXT VALUE FOR dms.ChangeVersionSequence;
END;
INSERT INTO dms.JournalFloor (Journal, ChangeVersion) VALUES (N'DocumentDeleteEvent', @floor);
-- drop: DROP TABLE dms.DocumentDeleteEvent;
-- drop: DELETE FROM dms.JournalFloor WHERE Journal = N'DocumentDeleteEvent';
