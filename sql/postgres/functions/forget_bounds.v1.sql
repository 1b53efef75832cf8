-- sql/postgres/functions/forget_bounds.v1.sql: option partitions: takes away what dms.ensure_partitions has begun with a journal's default part.
CREATE FUNCTION dms.forget_bounds(journal text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET row_security = off SET client_min_messages = warning AS $$
BEGIN
    EXECUTE format('ALTER TABLE IF EXISTS dms.%I DROP CONSTRAINT IF EXISTS ck_bounds', lower(journal) || '_default');
    EXECUTE format('DROP FUNCTION IF EXISTS dms.%I(), dms.%I()', lower(journal) || '_from', lower(journal) || '_through');
END $$;
REVOKE EXECUTE ON FUNCTION dms.forget_bounds(text) FROM PUBLIC;
-- drop: DROP FUNCTION dms.forget_bounds(text);
