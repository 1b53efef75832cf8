-- sql/postgres/functions/check_tracked_documents.v1.sql: documents of a tracked table that have no row, or the key of another document, among the next 10,000 after
-- an id. Ends with a row 'end': the last id that was looked at, null at the end.
CREATE FUNCTION dms.check_tracked_documents(table_name text, after bigint) RETURNS TABLE (code text, name text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET row_security = off
SET TimeZone = 'UTC' SET DateStyle = 'ISO, YMD' SET IntervalStyle = 'postgres' SET extra_float_digits = 1 SET bytea_output = 'hex' SET lc_monetary = 'C' SET array_nulls = on AS $$
DECLARE
    tracked smallint := dms.tracked_id(table_name);
    kind    smallint := (SELECT t.ResourceKeyId FROM dms.TrackedTable AS t WHERE t.TrackedTableId = tracked);
    typed   text := (SELECT string_agg(format(k.equal, format('r.%I', k.name), dms.tracked_typed(k.type_id, 'd.KeyValues', k.property)), ' AND ' ORDER BY k.place)
                     FROM dms.tracked_key(tracked) AS k) || format(' AND %s = d.KeyValues', dms.tracked_key_json(tracked, 'r'));  -- citext 'a' and 'A' are equal
BEGIN
    IF to_regclass(format('dms.%I', 'tracked_' || tracked)) IS NULL OR typed IS NULL OR NOT dms.is_readable(tracked) THEN
        RETURN;
    END IF;
    RETURN QUERY EXECUTE format('
        SELECT CASE WHEN r.is_there IS NULL THEN ''document-rowless'' ELSE ''document-doubled'' END, d.DocumentId::text
        FROM (SELECT DocumentId, KeyValues FROM dms.Document WHERE ResourceKeyId = %1$s AND DocumentId > $1 ORDER BY ResourceKeyId, DocumentId LIMIT 10000) AS d
        LEFT JOIN LATERAL (SELECT true AS is_there FROM dms.tracked_%2$s AS r WHERE %3$s LIMIT 1) AS r ON true
        LEFT JOIN LATERAL (%4$s) AS o ON true
        WHERE r.is_there IS NULL OR o.DocumentId IS NOT NULL', kind, tracked, typed,
        replace(dms.tracked_document(tracked, 'd.KeyValues'), ' LIMIT 1', ' AND f.DocumentId < d.DocumentId LIMIT 1')) USING after;
    SELECT 'end', max(d.DocumentId)::text INTO code, name
    FROM (SELECT d.DocumentId FROM dms.Document AS d WHERE d.ResourceKeyId = kind AND d.DocumentId > after ORDER BY d.ResourceKeyId, d.DocumentId LIMIT 10000) AS d;
    RETURN NEXT;
END $$;
REVOKE EXECUTE ON FUNCTION dms.check_tracked_documents(text, bigint) FROM PUBLIC;
-- drop: DROP FUNCTION dms.check_tracked_documents(text, bigint);
