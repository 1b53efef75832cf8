-- sql/postgres/queries/database/hold_versions.sql: refuses to read the revisions from anything but a plain table: a view, a rule or a policy would run
-- what its owner wrote, with the rights of who reads. Takes ACCESS SHARE first, so that nothing is swapped before the read. Runs in its
-- transaction.
DO $$
BEGIN
    IF to_regclass('dms.alembic_version') IS NULL THEN
        RETURN;
    END IF;
    LOCK TABLE ONLY dms.alembic_version IN ACCESS SHARE MODE;
    IF EXISTS (
        SELECT FROM pg_class AS c
        WHERE c.oid = to_regclass('dms.alembic_version')
          AND (c.relkind <> 'r' OR c.relrowsecurity OR EXISTS (SELECT FROM pg_rewrite AS w WHERE w.ev_class = c.oid))) THEN
        RAISE EXCEPTION 'dms.alembic_version is no plain table, so it is not read: that could run code of its owner'
            USING ERRCODE = 'DJ006', HINT = 'It is not the table that an upgrade makes. Look at it, and drop it.';
    END IF;
END $$
