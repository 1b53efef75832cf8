-- sql/postgres/functions/register_consumer.v1.sql: registers a consumer, which belongs to the role that asks for it (keep_consumer). Gives its
-- name, no row where the name is taken. document_id is exclusive; token may be null.
-- Who registers needs EXECUTE on this, and no right on the table: with UPDATE it could lock the table, or another consumer's row.
CREATE FUNCTION dms.register_consumer(consumer_name text, version bigint, document_id bigint, token text) RETURNS SETOF text
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET row_security = off AS $$
BEGIN
    PERFORM FROM dms.JournalFloor WHERE Journal = 'DocumentChangeEvent' FOR KEY SHARE;  -- no batch of a prune is on its way: prune_begin.sql
    RETURN QUERY
    INSERT INTO dms.ChangeConsumer AS consumer
        (Name, ChangeVersion, DocumentId, FeedToken, EventVersion, EventDocumentId, EventTransactionId, EventAt)
    SELECT consumer_name, version, document_id, token, event.ChangeVersion, event.DocumentId, event.TransactionId, event.CreatedAt
    FROM (
        SELECT max(f.ChangeVersion) AS event_floor FROM dms.JournalFloor AS f WHERE f.Journal IN ('DocumentChangeEvent', 'DocumentDeleteEvent')
    ) AS floors
    LEFT JOIN LATERAL (
        (SELECT e.ChangeVersion, e.DocumentId, e.TransactionId, e.CreatedAt FROM dms.DocumentChangeEvent AS e
         WHERE e.ChangeVersion <= version AND e.ChangeVersion > floors.event_floor
         ORDER BY e.ChangeVersion DESC, e.DocumentId DESC LIMIT 1)
        UNION ALL
        (SELECT e.ChangeVersion, e.DocumentId, e.TransactionId, e.CreatedAt FROM dms.DocumentDeleteEvent AS e
         WHERE e.ChangeVersion <= version AND e.ChangeVersion > floors.event_floor
         ORDER BY e.ChangeVersion DESC LIMIT 1)
        ORDER BY ChangeVersion DESC, DocumentId DESC
        LIMIT 1
    ) AS event ON true
    ON CONFLICT (Name) DO NOTHING
    RETURNING consumer.Name::text;
END $$;
REVOKE EXECUTE ON FUNCTION dms.register_consumer(text, bigint, bigint, text) FROM PUBLIC;
-- drop: DROP FUNCTION dms.register_consumer(text, bigint, bigint, text);
