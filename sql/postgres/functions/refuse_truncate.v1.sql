-- sql/postgres/functions/refuse_truncate.v1.sql: TRUNCATE tells no row trigger which rows went, so it is refused (acceptance 48).
-- Fires: before truncate on the documents, the edges, the journals and what is kept beside them.
CREATE FUNCTION dms.refuse_truncate() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET row_security = off AS $$
BEGIN
    RAISE EXCEPTION 'TRUNCATE of %.% is refused: no journal would tell what was removed', TG_TABLE_SCHEMA, TG_TABLE_NAME
        USING ERRCODE = 'DJ005', HINT = 'DELETE the rows; the journals are pruned, never truncated.';
END $$;
REVOKE EXECUTE ON FUNCTION dms.refuse_truncate() FROM PUBLIC;
-- drop: DROP FUNCTION dms.refuse_truncate();
