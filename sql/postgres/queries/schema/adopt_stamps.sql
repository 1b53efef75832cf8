-- sql/postgres/queries/schema/adopt_stamps.sql: first stamps, and with them events, from the triggers, for a batch of documents. A document that a
-- writer has stamped meanwhile needs none: the row is looked at again once it is locked. In ascending order, as all our writers lock.
-- Binds: after_id, through_id; new_stamps (whether also stamps from before the triggers are replaced: they are below the first floor).
WITH stale AS MATERIALIZED (
    SELECT CASE WHEN CAST(:new_stamps AS boolean) THEN ChangeVersion ELSE 0 END AS version
    FROM dms.JournalFloor WHERE Journal = 'DocumentChangeEvent'
), unstamped AS MATERIALIZED (
    SELECT d.DocumentId, stale.version
    FROM dms.Document AS d, stale
    WHERE d.DocumentId > CAST(:after_id AS bigint) AND d.DocumentId <= CAST(:through_id AS bigint)
      AND (d.ContentVersion <= stale.version OR d.IdentityVersion <= stale.version)
    ORDER BY d.DocumentId FOR NO KEY UPDATE OF d
)
UPDATE dms.Document AS d
SET ContentVersion = CASE WHEN d.ContentVersion > unstamped.version THEN d.ContentVersion END,
    IdentityVersion = CASE WHEN d.IdentityVersion > unstamped.version THEN d.IdentityVersion END
FROM unstamped WHERE d.DocumentId = unstamped.DocumentId
