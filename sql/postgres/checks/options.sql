-- sql/postgres/checks/options.sql: refuses to end where an option is without what it needs: its revision ends with the journal's revision
-- that it needs (dmsjournal/schema/options.py); and where a stamp says that a journal is there which is not. Runs after the migrations, in their transaction.
DO $$
DECLARE
    reached varchar;
    early varchar;
    option varchar;
BEGIN
    IF to_regclass('dms.alembic_version') IS NULL THEN
        RETURN;
    END IF;
    reached := coalesce((SELECT max(version_num) FROM dms.alembic_version WHERE version_num !~ '[^0-9]'), 'base');
    IF reached <> 'base' AND to_regclass('dms.Document') IS NULL THEN
        RAISE EXCEPTION 'dms.alembic_version would say revision %, and dms.Document is not there', reached
            USING ERRCODE = 'DJ006', HINT = 'Alembic''s stamp installs nothing: run dmsjournal upgrade, or alembic upgrade head.';
    END IF;
    SELECT min(version_num) INTO early FROM dms.alembic_version
    WHERE version_num ~ '[^0-9]' AND (reached = 'base' OR right(version_num, 4) > reached);
    IF early IS NOT NULL THEN
        option := regexp_replace(early, '(_[a-z])?_[0-9]+$', '');
        RAISE EXCEPTION 'option % needs revision %, and this leads to %', option, right(early, 4), reached
            USING ERRCODE = 'DJ006', HINT = format('Remove the option first: dmsjournal downgrade --without %s.', option);
    END IF;
END $$;
