-- sql/sqlserver/queries/feed/effects_caused.sql: option context: the documents that a transaction says it changed because of these events.
-- Binds: rows (JSON array of {change_version, document_id, document_uuid, transaction_id}; at most a horizon that was read before); most
--   (documents an event, 1 or more).
-- Gives: change_version, document_id of the event; affected_id, affected_version, its own last event for that cause; is_delete;
--   document_uuid, resource_key_id; old_key_values, new_key_values of its last event, null where that changed no key; reason (null: none was
--   said); total, how many there are of it. In the order of their versions.
-- The cause that a context names is the event's document, by its uuid, in the event's transaction (dmsjournal/write/transaction.py).
-- A transaction at or below the horizon has ended, so its journal does not change any more but for a prune, and the reader looks at the floors
--   afterwards. A document is read before its tombstone, so it is found in one of the two.
-- Plan: each transaction's contexts once, a range of PK_ChangeContext; for each that names a cause, the ranges of both journals that it holds
--   for: the stamps that anybody drew meanwhile.
SET NOCOUNT ON;
DECLARE @rows nvarchar(max) = :rows, @most bigint = :most;
DECLARE @wanted TABLE (
    ChangeVersion bigint           NOT NULL PRIMARY KEY,
    DocumentId    bigint           NOT NULL,
    DocumentUuid  uniqueidentifier NULL,
    TransactionId bigint           NOT NULL
);
DECLARE @cause TABLE (
    TransactionId  bigint           NOT NULL,
    AfterVersion   bigint           NOT NULL,
    ThroughVersion bigint           NOT NULL,
    DocumentUuid   uniqueidentifier NULL,
    Reason         nvarchar(4000)   NULL,
    PRIMARY KEY (TransactionId, AfterVersion)
);
DECLARE @touched TABLE (
    ChangeVersion   bigint           NOT NULL,
    DocumentId      bigint           NOT NULL,
    AffectedId      bigint           NOT NULL,
    AffectedVersion bigint           NOT NULL,
    IsDelete        int              NOT NULL,
    Reason          nvarchar(4000)   NULL,
    DocumentUuid    uniqueidentifier NULL,
    ResourceKeyId   smallint         NULL,
    PRIMARY KEY (ChangeVersion, AffectedId)
);
INSERT INTO @wanted (ChangeVersion, DocumentId, DocumentUuid, TransactionId)
SELECT listed.change_version, listed.document_id, listed.document_uuid, listed.transaction_id
FROM OPENJSON(@rows) WITH (
    change_version bigint '$.change_version', document_id bigint '$.document_id',
    document_uuid uniqueidentifier '$.document_uuid', transaction_id bigint '$.transaction_id') AS listed;
INSERT INTO @cause (TransactionId, AfterVersion, ThroughVersion, DocumentUuid, Reason)
SELECT said.TransactionId, said.AfterVersion, said.ThroughVersion,
       TRY_CAST(JSON_VALUE(said.Context, '$.cause.document_uuid') AS uniqueidentifier), JSON_VALUE(said.Context, '$.cause.reason')
FROM (SELECT DISTINCT TransactionId FROM @wanted) AS own
INNER JOIN dms.ChangeContext AS said ON said.TransactionId = own.TransactionId
WHERE said.ThroughVersion > said.AfterVersion
OPTION (LOOP JOIN, FORCE ORDER);
INSERT INTO @touched (ChangeVersion, DocumentId, AffectedId, AffectedVersion, IsDelete, Reason)
SELECT wanted.ChangeVersion, wanted.DocumentId, event.DocumentId, MAX(event.ChangeVersion), MAX(event.is_delete), MAX(cause.Reason)
FROM @wanted AS wanted
INNER JOIN @cause AS cause ON cause.TransactionId = wanted.TransactionId AND cause.DocumentUuid = wanted.DocumentUuid
CROSS APPLY (
    SELECT ChangeVersion, DocumentId, 0 AS is_delete FROM dms.DocumentChangeEvent
    WHERE ChangeVersion > cause.AfterVersion AND ChangeVersion <= cause.ThroughVersion AND TransactionId = cause.TransactionId
      AND Operation = 'update'
    UNION ALL
    SELECT ChangeVersion, DocumentId, 1 FROM dms.DocumentDeleteEvent
    WHERE ChangeVersion > cause.AfterVersion AND ChangeVersion <= cause.ThroughVersion AND TransactionId = cause.TransactionId
) AS event
WHERE event.DocumentId <> wanted.DocumentId
GROUP BY wanted.ChangeVersion, wanted.DocumentId, event.DocumentId
OPTION (LOOP JOIN, FORCE ORDER);
UPDATE touched SET DocumentUuid = document.DocumentUuid, ResourceKeyId = document.ResourceKeyId
FROM @touched AS touched INNER JOIN dms.Document AS document ON document.DocumentId = touched.AffectedId
OPTION (LOOP JOIN, FORCE ORDER);
UPDATE touched SET DocumentUuid = tombstone.DocumentUuid, ResourceKeyId = tombstone.ResourceKeyId
FROM @touched AS touched
CROSS APPLY (  -- the end of the lifetime that the change belongs to
    SELECT TOP (1) DocumentUuid, ResourceKeyId
    FROM dms.DocumentDeleteEvent WITH (INDEX (IX_DocumentDeleteEvent_Document), FORCESEEK)
    WHERE DocumentId = touched.AffectedId AND ChangeVersion >= touched.AffectedVersion
    ORDER BY ChangeVersion
) AS tombstone
OPTION (LOOP JOIN, FORCE ORDER);
SELECT placed.ChangeVersion AS change_version, placed.DocumentId AS document_id, placed.AffectedId AS affected_id,
       placed.AffectedVersion AS affected_version, placed.IsDelete AS is_delete, placed.DocumentUuid AS document_uuid,
       placed.ResourceKeyId AS resource_key_id, rekeyed.OldKeyValues AS old_key_values, rekeyed.NewKeyValues AS new_key_values,
       placed.Reason AS reason, placed.total
FROM (
    SELECT touched.*, ROW_NUMBER() OVER (PARTITION BY touched.ChangeVersion ORDER BY touched.AffectedVersion) AS place,
           COUNT(*) OVER (PARTITION BY touched.ChangeVersion) AS total
    FROM @touched AS touched
) AS placed
LEFT JOIN dms.KeyChangeEvent AS rekeyed
    ON rekeyed.ChangeVersion = placed.AffectedVersion AND rekeyed.DocumentId = placed.AffectedId AND placed.IsDelete = 0
WHERE placed.place <= @most
ORDER BY placed.ChangeVersion, placed.DocumentId, placed.AffectedVersion;
