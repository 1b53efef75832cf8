-- sql/postgres/queries/repair_constraints.sql: enables the triggers that hold the foreign keys of schema dms; a superuser's right.
-- Rows that broke a foreign key meanwhile are found as dangling edges.
DO $$
DECLARE
    disabled record;
BEGIN
    FOR disabled IN
        SELECT t.tgrelid::regclass AS at, t.tgname AS name FROM pg_trigger AS t JOIN pg_class AS c ON c.oid = t.tgrelid
        WHERE c.relnamespace = 'dms'::regnamespace AND t.tgisinternal AND t.tgenabled <> 'O'
    LOOP
        EXECUTE format('ALTER TABLE %s ENABLE TRIGGER %I', disabled.at, disabled.name);
    END LOOP;
END $$
