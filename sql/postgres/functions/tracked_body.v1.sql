-- sql/postgres/functions/tracked_body.v1.sql: the SQL expression that makes a body of a row, whose columns an alias has: a property a column.
-- A call takes 100 arguments at most, so a wide table's body is joined from several objects.
CREATE FUNCTION dms.tracked_body(tracked_id smallint, alias text) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT string_agg(format('jsonb_build_object(%s)', part.pairs), ' || ' ORDER BY part.number)
    FROM (SELECT c.number, string_agg(format('%L, %s', c.attname, dms.tracked_json(c.atttypid, format('%s.%I', alias, c.attname))), ', ' ORDER BY c.attnum) AS pairs
          FROM (SELECT a.*, row_number() OVER (ORDER BY a.attnum) / 40 AS number FROM pg_attribute AS a
                WHERE a.attrelid = dms.tracked_relation(tracked_id) AND a.attnum > 0 AND NOT a.attisdropped) AS c
          GROUP BY c.number) AS part
$$;
REVOKE EXECUTE ON FUNCTION dms.tracked_body(smallint, text) FROM PUBLIC;
-- drop: DROP FUNCTION dms.tracked_body(smallint, text);
