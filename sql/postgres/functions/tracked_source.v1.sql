-- sql/postgres/functions/tracked_source.v1.sql: a Spark source (queries/spark/sources/changes.sql, documents.sql) with the bodies of tracked rows that no
-- DocumentCache keeps, of the resources that are given: each table is joined by its key, so the planner reads it whole or by lookups. It reads
-- the catalog with the installing role's rights; its caller runs the query, and needs SELECT on the tables.
-- A key is made of KeyValues for rows of the table's own resource alone (CASE): other resources have values of other types under the same names.
CREATE FUNCTION dms.tracked_source(kinds smallint[], source text) RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET row_security = off AS $$
DECLARE
    unreadable text;
BEGIN
    SELECT min(t.TableName) INTO unreadable FROM dms.TrackedTable AS t
    WHERE t.ResourceKeyId = ANY (kinds) AND NOT t.KeepsBodies AND dms.tracked_body_query(t.TrackedTableId) IS NULL;
    IF unreadable IS NOT NULL THEN
        RAISE EXCEPTION 'bodies of table % cannot be read: it was dropped or replaced, or belongs to another role since', unreadable
            USING ERRCODE = 'DJ004', HINT = 'dmsjournal tracked says what is wrong with it; then run dmsjournal track --renew, or dmsjournal untrack.';
    END IF;
    RETURN (
    SELECT CASE WHEN count(*) = 0 THEN source ELSE format(
        'SELECT c.resource_key_id, c.resource, c.change_version, c.document_id, c.document_uuid, c.key_values, c.committed_at, '
        'coalesce(c.body, CAST(CASE c.resource_key_id %s END AS text)) AS body, c.stamps, c.last_modified FROM (%s) AS c %s',
        string_agg(format('WHEN %s THEN CASE WHEN %s IS NOT NULL THEN %s END', t.kind, t.first, t.body), ' ' ORDER BY t.id), source,
        string_agg(format('LEFT JOIN %s AS tracked_%s ON %s', t.relation, t.id, t.matches), ' ' ORDER BY t.id)) END
    FROM (
        SELECT t.TrackedTableId AS id, t.ResourceKeyId AS kind, format('%I.%I', n.nspname, r.relname) AS relation,
               dms.tracked_body(t.TrackedTableId, 'tracked_' || t.TrackedTableId) AS body,
               (SELECT format('tracked_%s.%I', t.TrackedTableId, k.name) FROM dms.tracked_key(t.TrackedTableId) AS k WHERE k.place = 1) AS first,
               (SELECT string_agg(format(k.equal, format('tracked_%s.%I', t.TrackedTableId, k.name), format('CASE WHEN c.resource_key_id = %s THEN %s END', t.ResourceKeyId,
                                         dms.tracked_typed(k.type_id, 'CAST(c.key_values AS jsonb)', k.property))), ' AND ' ORDER BY k.place)
                FROM dms.tracked_key(t.TrackedTableId) AS k) AS matches
        FROM dms.TrackedTable AS t
        JOIN pg_class AS r ON r.oid = dms.tracked_relation(t.TrackedTableId)
        JOIN pg_namespace AS n ON n.oid = r.relnamespace
        WHERE t.ResourceKeyId = ANY (kinds) AND NOT t.KeepsBodies) AS t
    WHERE t.matches IS NOT NULL);
END $$;
REVOKE EXECUTE ON FUNCTION dms.tracked_source(smallint[], text) FROM PUBLIC;
-- drop: DROP FUNCTION dms.tracked_source(smallint[], text);
