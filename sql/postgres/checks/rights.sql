-- sql/postgres/checks/rights.sql: refuses a role that may not create objects in schema dms, which another role owns and the operator trusts
-- (acceptance 57). The owner may always.
DO $$
BEGIN
    IF NOT has_schema_privilege('dms', 'CREATE') OR NOT has_schema_privilege('dms', 'USAGE') THEN
        RAISE EXCEPTION 'role % may not create objects in schema dms', current_user
            USING ERRCODE = 'DJ006', HINT = 'GRANT USAGE, CREATE ON SCHEMA dms to the role, or install as its owner.';
    END IF;
END $$;
