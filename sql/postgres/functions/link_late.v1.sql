-- sql/postgres/functions/link_late.v1.sql: the edges of a document whose row referred to one that was not there, at the end of the transaction: then it is,
-- or the foreign key refuses the commit. Fires: after insert on dms.TrackedLate, each row, deferred.
CREATE FUNCTION dms.link_late() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET row_security = off AS $$
BEGIN
    IF to_regprocedure(format('dms.tracked_%s_edges(bigint[],boolean)', NEW.TrackedTableId)) IS NOT NULL THEN
        EXECUTE format('SELECT dms.tracked_%s_edges($1)', NEW.TrackedTableId) USING ARRAY[NEW.DocumentId];
    END IF;
    DELETE FROM dms.TrackedLate WHERE TrackedTableId = NEW.TrackedTableId AND DocumentId = NEW.DocumentId;
    RETURN NULL;
END $$;
REVOKE EXECUTE ON FUNCTION dms.link_late() FROM PUBLIC;
-- drop: DROP FUNCTION dms.link_late();
