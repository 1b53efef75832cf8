-- sql/sqlserver/queries/schema/adopt_stamps.sql: first stamps, and with them events, from the triggers, for a batch of documents; then the hashes of
-- key values, which nobody kept. A document that a writer has stamped meanwhile needs none: an update looks at the row as it is once it is
-- locked, whatever the isolation level. Along the primary key, as all our writers lock. Below 5,000 rows: above, the server locks the table.
-- Binds: after_id, through_id; new_stamps (whether also stamps from before the triggers are replaced: they are below the first floor).
SET NOCOUNT ON;
DECLARE @after_id bigint = :after_id, @through_id bigint = :through_id, @stale bigint = 0;
IF CAST(:new_stamps AS bit) = 1
    SELECT @stale = ChangeVersion FROM dms.JournalFloor WHERE Journal = N'DocumentChangeEvent';
UPDATE dms.Document
SET ContentVersion = CASE WHEN ContentVersion > @stale THEN ContentVersion ELSE -1 END,
    IdentityVersion = CASE WHEN IdentityVersion > @stale THEN IdentityVersion ELSE -1 END
WHERE DocumentId > @after_id AND DocumentId <= @through_id AND (ContentVersion <= @stale OR IdentityVersion <= @stale);
UPDATE dms.Document SET KeyValuesHash = KeyValuesHash
WHERE DocumentId > @after_id AND DocumentId <= @through_id AND KeyValues IS NOT NULL AND KeyValuesHash IS NULL;
