-- sql/postgres/functions/enter_statement.v1.sql: enters the transaction among the writers before an insert, so that stamp_insert can
-- draw without looking: the lock on the floor is held by then, whatever the session writes into the setting meanwhile.
-- Fires: before insert on dms.Document, once a statement (an insert of no row enters too). An update enters when its first row
-- proves to change (stamp_update), since one that changes nothing holds nobody up.
CREATE FUNCTION dms.enter_statement() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET row_security = off AS $$  -- writers need no right on enter_change
BEGIN
    PERFORM dms.enter_change();
    RETURN NULL;
END $$;
REVOKE EXECUTE ON FUNCTION dms.enter_statement() FROM PUBLIC;
-- drop: DROP FUNCTION dms.enter_statement();
