-- sql/postgres/tables/DocumentDeleteEvent.v1.sql: tombstones, each with a stamp of its own above all of the document's (invariant 7).
CREATE TABLE dms.DocumentDeleteEvent (
    ChangeVersion bigint      NOT NULL CONSTRAINT PK_DocumentDeleteEvent PRIMARY KEY,
    DocumentId    bigint      NOT NULL,
    DocumentUuid  uuid        NOT NULL,
    TransactionId bigint      NOT NULL,
    CreatedAt     timestamptz NOT NULL,
    ResourceKeyId smallint    NOT NULL,
    KeyValues     jsonb       NULL
);
CREATE INDEX IX_DocumentDeleteEvent_Resource ON dms.DocumentDeleteEvent (ResourceKeyId, ChangeVersion);
-- A uuid names one lifetime: the writer looks here before it gives a re-created document the uuid that a caller wishes.
CREATE INDEX IX_DocumentDeleteEvent_DocumentUuid ON dms.DocumentDeleteEvent (DocumentUuid);
COMMENT ON TABLE dms.DocumentDeleteEvent IS 'dmsjournal: tombstones';
-- Deletes from before this journal are not in it: its floor is a stamp of its own, as JournalFloor.v1.sql tells.
INSERT INTO dms.JournalFloor (Journal, ChangeVersion)
SELECT 'DocumentDeleteEvent', CASE WHEN pg_sequence_last_value('dms.ChangeVersionSequence') IS NULL THEN 0
                                   ELSE nextval('dms.ChangeVersionSequence') END;
