-- sql/postgres/functions/move_consumer.v1.sql: moves a consumer of the role that asks for it (keep_consumer). Gives its name, no row where it has
-- moved past the place already and may not go back. document_id is exclusive; token may be null. See register_consumer.v1.sql.
CREATE FUNCTION dms.move_consumer(consumer_name text, version bigint, document_id bigint, token text, backwards boolean) RETURNS SETOF text
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET row_security = off AS $$
BEGIN
    PERFORM FROM dms.JournalFloor WHERE Journal = 'DocumentChangeEvent' FOR KEY SHARE;  -- no batch of a prune is on its way: prune_begin.sql
    RETURN QUERY
    UPDATE dms.ChangeConsumer AS consumer
    SET ChangeVersion = version, DocumentId = move_consumer.document_id, FeedToken = token,
        EventVersion = event.ChangeVersion, EventDocumentId = event.DocumentId,
        EventTransactionId = event.TransactionId, EventAt = event.CreatedAt
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
    WHERE consumer.Name = consumer_name
      AND (backwards OR (consumer.ChangeVersion, consumer.DocumentId) <= (version, move_consumer.document_id))
    RETURNING consumer.Name::text;
END $$;
REVOKE EXECUTE ON FUNCTION dms.move_consumer(text, bigint, bigint, text, boolean) FROM PUBLIC;
-- drop: DROP FUNCTION dms.move_consumer(text, bigint, bigint, text, boolean);
