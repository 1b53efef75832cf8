-- sql/postgres/functions/tracked_key.v1.sql: the columns of a tracked table's key, in order: number, name, type, name in KeyValues, and the
-- operator by which the key's index says that two are equal (a pattern, tracked_operator.v1.sql). No row where the key is gone.
CREATE FUNCTION dms.tracked_key(tracked_id smallint)
RETURNS TABLE (place integer, attnum smallint, name name, type_id oid, property text, equal text)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT k.ordinality::integer, a.attnum, a.attname, a.atttypid, coalesce(t.Properties[k.ordinality], a.attname),
           (SELECT dms.tracked_operator(m.amopopr)
            FROM pg_opclass AS c
            JOIN pg_amop AS m ON m.amopfamily = c.opcfamily AND m.amoplefttype = c.opcintype AND m.amoprighttype = c.opcintype AND m.amopstrategy = 3
            WHERE c.oid = i.indclass[k.ordinality - 1])
    FROM dms.TrackedTable AS t
    JOIN pg_constraint AS con ON con.conrelid = dms.tracked_relation(tracked_id)
        AND CASE WHEN t.KeyName IS NULL THEN con.contype = 'p' ELSE con.conname = t.KeyName AND con.contype IN ('p', 'u') END
    JOIN pg_index AS i ON i.indexrelid = con.conindid
    CROSS JOIN LATERAL unnest(con.conkey) WITH ORDINALITY AS k (attnum, ordinality)
    JOIN pg_attribute AS a ON a.attrelid = con.conrelid AND a.attnum = k.attnum
    WHERE t.TrackedTableId = tracked_id
    ORDER BY k.ordinality
$$;
REVOKE EXECUTE ON FUNCTION dms.tracked_key(smallint) FROM PUBLIC;
-- drop: DROP FUNCTION dms.tracked_key(smallint);
