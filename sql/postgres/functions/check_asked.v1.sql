-- sql/postgres/functions/check_asked.v1.sql: checks the names that track is given, and whether the table can be tracked. Gives the table's oid. Reads the catalog alone.
CREATE FUNCTION dms.check_asked(table_name text, shows name[], columns name[], key name, trust boolean) RETURNS oid
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp SET quote_all_identifiers = off AS $$
DECLARE
    relation oid;
    named    record;
    wrong    name;
    trusted  name[] := '{}';
BEGIN
    BEGIN
        relation := to_regclass(table_name);
    EXCEPTION WHEN invalid_name OR syntax_error OR feature_not_supported THEN  -- no name of a table at all, such as app.Order Line
    END;
    IF relation IS NULL THEN
        RAISE EXCEPTION 'table % is not there', table_name
            USING ERRCODE = 'DJ009', HINT = concat('Is it ' || (SELECT string_agg(near.name, ', ' ORDER BY near.name)
                                                            FROM (SELECT format('%I.%I', n.nspname, c.relname) AS name
                                                                  FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
                                                                  WHERE lower(c.relname) = lower(regexp_replace(table_name, '^.*\.|"', '', 'g')) AND c.relkind IN ('r', 'p')
                                                                    AND n.nspname NOT IN ('dms', 'pg_catalog', 'information_schema') AND n.nspname !~ '^pg_t'
                                                                  ORDER BY 1 LIMIT 5) AS near) || '? ',
                                          'Name it with its schema, as SQL has it: app.student, or app."Order Line" where a name has capitals or blanks.');
    END IF;
    IF trust THEN
        trusted := ARRAY(SELECT DISTINCT o.role FROM dms.tracked_owners(relation) AS o ORDER BY o.role);
    END IF;
    PERFORM dms.check_trackable(relation, key, trusted);
    SELECT c.relname, n.nspname, format('%I.%I', n.nspname, c.relname) AS name INTO named
    FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE c.oid = relation;
    IF EXISTS (SELECT FROM dms.TrackedTable AS t WHERE dms.tracked_relation(t.TrackedTableId) = relation) THEN
        RAISE EXCEPTION 'table % is tracked already', named.name
            USING ERRCODE = 'DJ009', HINT = 'To take in what has changed about it, use --renew (dms.renew_tracking); for other columns or another key, untrack it first.';
    END IF;
    SELECT c INTO wrong FROM unnest(shows || columns) AS c
    WHERE NOT EXISTS (SELECT FROM pg_attribute AS a WHERE a.attrelid = relation AND a.attname = c AND a.attnum > 0 AND NOT a.attisdropped) LIMIT 1;
    IF wrong IS NOT NULL THEN
        RAISE EXCEPTION 'table % has no column %', named.name, quote_ident(wrong)
            USING ERRCODE = 'DJ009', COLUMN = wrong, HINT = 'Its columns are ' || (SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum) FROM pg_attribute AS a
                                                                                   WHERE a.attrelid = relation AND a.attnum > 0 AND NOT a.attisdropped) || '.';
    END IF;
    SELECT c INTO wrong FROM unnest(shows || columns) AS c
    WHERE EXISTS (SELECT FROM pg_attribute AS a WHERE a.attrelid = relation AND a.attname = c AND a.attgenerated = 'v' AND NOT a.attisdropped) LIMIT 1;
    IF wrong IS NOT NULL THEN
        RAISE EXCEPTION 'column % of table % is generated and virtual: no trigger is told its values', quote_ident(wrong), named.name
            USING ERRCODE = 'DJ009', COLUMN = wrong, HINT = 'Name the columns that it is computed from.';
    END IF;
    RETURN relation;
END $$;
REVOKE EXECUTE ON FUNCTION dms.check_asked(text, name[], name[], name, boolean) FROM PUBLIC;
-- drop: DROP FUNCTION dms.check_asked(text, name[], name[], name, boolean);
