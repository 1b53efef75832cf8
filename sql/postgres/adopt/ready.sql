-- sql/postgres/adopt/ready.sql: in place of checks/installable.sql, when the tables have their shape: no writer is on its way from here to
-- the end of the transaction, which brings the triggers. It reads and writes no rows: what is long came before, or comes after.
DO $$
BEGIN
    IF to_regclass('dms.Adoption') IS NULL OR to_regclass('dms.adoption_stamps') IS NULL THEN
        RAISE EXCEPTION 'dms.Document is not ready to be adopted' USING ERRCODE = 'DJ006', HINT = 'Run dmsjournal adopt.';
    END IF;
    LOCK TABLE dms.Document IN SHARE ROW EXCLUSIVE MODE;
    IF to_regclass('dms.ReferenceEdge') IS NOT NULL THEN
        LOCK TABLE dms.ReferenceEdge IN SHARE ROW EXCLUSIVE MODE;
    END IF;
END $$;
