-- sql/postgres/functions/tracked_document.v1.sql: the SQL query that finds a tracked row's document by an expression for its key: a lookup in
-- IX_Document_KeyValues.
CREATE FUNCTION dms.tracked_document(tracked_id smallint, key text) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT format('SELECT f.DocumentId FROM dms.Document AS f WHERE f.ResourceKeyId = %1$s '
                  'AND jsonb_hash_extended(f.KeyValues, 0) = jsonb_hash_extended(%2$s, 0) AND f.KeyValues = %2$s LIMIT 1', t.ResourceKeyId, key)
    FROM dms.TrackedTable AS t WHERE t.TrackedTableId = tracked_id
$$;
REVOKE EXECUTE ON FUNCTION dms.tracked_document(smallint, text) FROM PUBLIC;
-- drop: DROP FUNCTION dms.tracked_document(smallint, text);
