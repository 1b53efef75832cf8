-- sql/postgres/functions/tracked_id.v1.sql: the id of a tracked table, by the name that it has now, or had when it was last looked at.
CREATE FUNCTION dms.tracked_id(table_name text) RETURNS smallint
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp SET quote_all_identifiers = off AS $$
DECLARE
    seen     smallint;
    relation oid;
BEGIN
    BEGIN
        relation := to_regclass(table_name);
    EXCEPTION WHEN invalid_name OR syntax_error OR feature_not_supported THEN  -- no name of a table at all, such as app.Order Line
    END;
    SELECT t.TrackedTableId INTO seen FROM dms.TrackedTable AS t
    WHERE dms.tracked_relation(t.TrackedTableId) = relation OR t.TableName = table_name
    ORDER BY dms.tracked_relation(t.TrackedTableId) = relation DESC NULLS LAST LIMIT 1;
    IF seen IS NULL THEN
        RAISE EXCEPTION 'table % is not tracked', table_name
            USING ERRCODE = 'DJ009', HINT = coalesce('It is a partition of ' || (SELECT pg_partition_root(c.oid)::regclass FROM pg_class AS c WHERE c.oid = relation AND c.relispartition)
                                                     || ': name that one.',
                                                     'Tracked are ' || (SELECT string_agg(t.TableName, ', ' ORDER BY t.TableName) FROM dms.TrackedTable AS t) || '.',
                                                     'No table is tracked.');
    END IF;
    RETURN seen;
END $$;
REVOKE EXECUTE ON FUNCTION dms.tracked_id(text) FROM PUBLIC;
-- drop: DROP FUNCTION dms.tracked_id(text);
