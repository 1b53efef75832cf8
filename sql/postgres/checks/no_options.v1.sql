-- sql/postgres/checks/no_options.v1.sql: refuses to go below revision 0006, which every option needs, while there is one. The first thing that
-- going below it does: what an option added would stop it later in worse words. options.sql sees to what options need beyond that.
DO $$
DECLARE
    option varchar := (SELECT min(version_num) FROM dms.alembic_version WHERE version_num ~ '[^0-9]');
BEGIN
    IF option IS NOT NULL THEN
        RAISE EXCEPTION 'option % needs revision %, and this goes below it', regexp_replace(option, '(_[a-z])?_[0-9]+$', ''), right(option, 4)
            USING ERRCODE = 'DJ006',
                HINT = format('Remove the option first: dmsjournal downgrade --without %s.', regexp_replace(option, '(_[a-z])?_[0-9]+$', ''));
    END IF;
END $$;
