-- sql/postgres/functions/keep_consumer.v1.sql: a consumer's row belongs to the role that registered it. That role, its members, and a role that
-- may delete the journal's events (the pruner, the installing role) may change or remove it. The time is the database's own.
-- Fires: before insert, update and delete on dms.ChangeConsumer, each row.
-- The role is the session's: register_consumer and its like run with the installing role's rights, which current_user then names.
CREATE FUNCTION dms.keep_consumer() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET row_security = off AS $$
DECLARE
    caller   name := coalesce(nullif(current_setting('role'), 'none'), session_user);  -- as the default of Owner
    operates boolean := has_table_privilege(caller, 'dms.documentchangeevent', 'DELETE');
BEGIN
    IF TG_OP <> 'INSERT' AND NOT operates
        AND NOT coalesce(pg_has_role(caller, to_regrole(quote_ident(OLD.Owner)), 'USAGE'), false) THEN
        RAISE EXCEPTION 'consumer % belongs to role %, not to %', OLD.Name, OLD.Owner, caller
            USING ERRCODE = 'insufficient_privilege',
                  HINT = 'use another name, or act as its owner, a member of it, or a role that may prune (docs/dba/roles.md)';
    END IF;
    IF TG_OP = 'DELETE' THEN
        RETURN OLD;
    END IF;
    IF NOT operates THEN  -- who operates may give a consumer to another role
        NEW.Owner := CASE TG_OP WHEN 'UPDATE' THEN OLD.Owner ELSE caller END;
    END IF;
    NEW.UpdatedAt := clock_timestamp();
    RETURN NEW;
END $$;
REVOKE EXECUTE ON FUNCTION dms.keep_consumer() FROM PUBLIC;
-- drop: DROP FUNCTION dms.keep_consumer();
