-- sql/postgres/checks/owned.sql: refuses to go on where schema dms, or something in it, is not the installing role's, whatever its mark says, or is
-- not what a migration makes (invariant 13, acceptance 105). Runs once the schema is there, before anything of it is run or read, and names all
-- that it finds but rights to create triggers, which verify names. `trusted` is what the operator takes over on purpose (--trust), as it was named here.
DO $owned$
DECLARE
    trusted text[] := ARRAY(SELECT jsonb_array_elements_text($trusted${trusted}$trusted$::jsonb));
    listed text;
    first text;
BEGIN
    SELECT string_agg(format('%s (%s)', f.subject, f.found), '; '), min(f.subject) INTO listed, first
    FROM (
{foreign_objects}
    ) AS f
    WHERE f.kind <> 'grant' AND f.subject <> ALL (trusted);
    IF listed IS NOT NULL THEN
        RAISE EXCEPTION 'schema dms is not all of role %: %', current_user, listed
            USING ERRCODE = 'DJ006', HINT = format(
                'Run it as the role that owns them. If that role is not the one to install, read each object, then drop it or give it to role %s '
                '(ALTER ... OWNER TO). To take one over as it is, name it: --trust ''%s''.', current_user, first);
    END IF;
END $owned$;
