-- sql/postgres/tables/DocumentDeleteEvent.v1.sql: tombstones, each with a stamp of its own above all of the document's (invariant 7).
-- autovacuum: after a fiftieth, not a fifth: a prune leaves that much, and estimates go by it.
CREATE TABLE dms.DocumentDeleteEvent (
    ChangeVersion bigint      NOT NULL CONSTRAINT PK_DocumentDeleteEvent PRIMARY KEY,
    DocumentId    bigint      NOT NULL,
    DocumentUuid  uuid        NOT NULL,
    TransactionId bigint      NOT NULL,
    CreatedAt     timestamptz NOT NULL,
    ResourceKeyId smallint    NOT NULL,
    KeyValues     jsonb       NULL
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05);
CREATE INDEX IX_DocumentDeleteEvent_Resource ON dms.DocumentDeleteEvent (ResourceKeyId, ChangeVersion);
-- A uuid names one lifetime: the writer looks here before it gives a re-created document the uuid that a caller wishes.
CREATE INDEX IX_DocumentDeleteEvent_DocumentUuid ON dms.DocumentDeleteEvent (DocumentUuid);
COMMENT ON TABLE dms.DocumentDeleteEvent IS 'dmsjournal: tombstones';
-- Deletes from before this journal are not in it: its floor is a stamp of its own, as JournalFloor.v1.sql tells.
INSERT INTO dms.JournalFloor (Journal, ChangeVersion)
SELECT 'DocumentDeleteEvent', CASE WHEN (SELECT is_called FROM dms.ChangeVersionSequence)
                                   THEN nextval('dms.ChangeVersionSequence') ELSE 0 END;
-- drop: DROP TABLE dms.DocumentDeleteEvent;
-- drop: DELETE FROM dms.JournalFloor WHERE Journal = 'DocumentDeleteEvent';
