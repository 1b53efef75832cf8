-- sql/postgres/functions/untrackable.v1.sql: why a table cannot be tracked, and what to do; no row where it can. Reads the catalog alone.
CREATE FUNCTION dms.untrackable(relation oid, key_name name) RETURNS TABLE (reason text, remedy text)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    named record;
    parts CONSTANT oid[] := ARRAY(  -- the table, its partitions, and what inherits from it
        WITH RECURSIVE part AS (SELECT relation AS id UNION SELECT h.inhrelid FROM part AS p JOIN pg_inherits AS h ON h.inhparent = p.id)
        SELECT p.id FROM part AS p);
BEGIN
    SELECT c.*, n.nspname, format('%I.%I', n.nspname, c.relname) AS name, pg_get_userbyid(c.relowner) AS owner,
           (SELECT con.oid FROM pg_constraint AS con WHERE con.conrelid = c.oid
             AND CASE WHEN key_name IS NULL THEN con.contype = 'p' ELSE con.conname = key_name AND con.contype IN ('p', 'u') END) AS key
    INTO named FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE c.oid = relation;
    SELECT r.reason, r.remedy INTO reason, remedy FROM (VALUES
        (1, named.relkind = 'v', 'it is a view', 'Track the tables that it reads.'),
        (2, named.relkind = 'm', 'it is a materialized view', 'Track the tables that it reads.'),
        (3, named.relkind = 'f', 'it is a foreign table: nothing here sees its rows change', 'Track it in the database that has it.'),
        (4, named.relkind NOT IN ('r', 'p', 'v', 'm', 'f'), 'it is no table', 'Name a table.'),
        (5, named.relpersistence = 't', 'it is temporary', 'Track a table that stays.'),
        (6, named.relpersistence = 'u', 'it is UNLOGGED: a crash empties it, and no trigger sees that', format('ALTER TABLE %s SET LOGGED.', named.name)),
        (7, named.nspname IN ('dms', 'pg_catalog', 'information_schema'), 'it belongs to schema ' || named.nspname, 'Track a table of your own.'),
        (8, named.relispartition, 'it is a partition of ' || pg_partition_root(relation)::regclass,
            'Track that one: its partitions come with it.')) AS r (place, is_so, reason, remedy)
    WHERE r.is_so ORDER BY r.place LIMIT 1;
    IF reason IS NULL AND named.key IS NULL THEN
        reason := CASE WHEN key_name IS NULL THEN 'it has no primary key' ELSE format('it has no primary or unique key of the name %I', key_name) END;
        remedy := coalesce('Name one of its unique keys: ' || (SELECT string_agg(quote_ident(con.conname), ', ' ORDER BY con.conname) FROM pg_constraint AS con
                                                              WHERE con.conrelid = relation AND con.contype IN ('p', 'u')) || '.', 'Add a primary key.');
    END IF;
    IF reason IS NULL THEN
        SELECT format('column %I of its key may be null', a.attname), format('ALTER TABLE %s ALTER COLUMN %I SET NOT NULL.', named.name, a.attname) INTO reason, remedy
        FROM pg_constraint AS con JOIN pg_attribute AS a ON a.attrelid = relation AND a.attnum = ANY (con.conkey)
        WHERE con.oid = named.key AND NOT a.attnotnull ORDER BY a.attnum LIMIT 1;
    END IF;
    IF reason IS NULL THEN
        SELECT format('column %I of its key is of type %s, which JSON cannot hold exactly', a.attname, format_type(a.atttypid, NULL)),
               'Name a unique key of other columns.' INTO reason, remedy
        FROM pg_constraint AS con JOIN pg_attribute AS a ON a.attrelid = relation AND a.attnum = ANY (con.conkey)
        JOIN pg_type AS y ON y.oid = dms.tracked_base_type(a.atttypid)
        WHERE con.oid = named.key AND (y.typtype IN ('c', 'r', 'm', 'p') OR y.typcategory = 'A' OR y.oid = ANY (ARRAY['float4', 'float8', 'json', 'jsonb']::regtype[]))
        ORDER BY a.attnum LIMIT 1;
    END IF;
    IF reason IS NULL THEN
        SELECT format('column %I of its key is of type %s, whose values read otherwise when what they name is renamed', a.attname, format_type(a.atttypid, NULL)),
               'Name a unique key of other columns.' INTO reason, remedy
        FROM pg_constraint AS con JOIN pg_attribute AS a ON a.attrelid = relation AND a.attnum = ANY (con.conkey)
        JOIN pg_type AS y ON y.oid = dms.tracked_base_type(a.atttypid)
        WHERE con.oid = named.key AND y.typnamespace = 'pg_catalog'::regnamespace AND y.typname ~ '^reg'
        ORDER BY a.attnum LIMIT 1;
    END IF;
    IF reason IS NULL THEN
        SELECT format('its part %s is %s', c.oid::regclass, CASE WHEN c.relkind = 'f' THEN 'a foreign table: nothing here sees its rows change'
                      WHEN c.relpersistence = 't' THEN 'temporary' ELSE 'UNLOGGED: a crash empties it, and no trigger sees that' END),
               CASE WHEN c.relkind = 'f' THEN 'Detach it, or track it where it is.' WHEN c.relpersistence = 't' THEN 'Drop it.'
                    ELSE format('ALTER TABLE %s SET LOGGED.', c.oid::regclass) END INTO reason, remedy
        FROM unnest(parts) AS p (id) JOIN pg_class AS c ON c.oid = p.id
        WHERE c.relkind = 'f' OR c.relpersistence IN ('t', 'u') ORDER BY c.oid::regclass::text LIMIT 1;
    END IF;
    IF reason IS NULL THEN
        SELECT format('subscription %s fills it, and no trigger of ours fires for what that writes', s.subname), 'Track it in the database that publishes it.' INTO reason, remedy
        FROM pg_subscription_rel AS r JOIN pg_subscription AS s ON s.oid = r.srsubid
        WHERE r.srrelid = ANY (parts) LIMIT 1;
    END IF;
    IF reason IS NULL AND NOT (has_table_privilege(relation, 'SELECT') AND has_table_privilege(relation, 'TRIGGER') AND has_any_column_privilege(relation, 'UPDATE')) THEN
        reason := format('role %s lacks SELECT, UPDATE or TRIGGER on it', current_user);
        remedy := format('GRANT USAGE ON SCHEMA %I TO %I; GRANT SELECT, UPDATE, TRIGGER ON %s TO %2$I; UPDATE is for locks of rows, no row is written.',
                         named.nspname, current_user, named.name);
    END IF;
    IF reason IS NULL THEN  -- statements on a part itself fire its own triggers
        SELECT format('role %s lacks TRIGGER on its part %s', current_user, p.id::regclass), format('GRANT TRIGGER ON %s TO %I.', p.id::regclass, current_user)
        INTO reason, remedy
        FROM unnest(parts) AS p (id) WHERE NOT has_table_privilege(p.id, 'TRIGGER') ORDER BY 1 LIMIT 1;
    END IF;
    IF reason IS NULL AND row_security_active(relation) THEN
        reason := format('row level security hides rows from role %s, whose triggers read it', current_user);
        remedy := format('ALTER ROLE %I BYPASSRLS, or install dmsjournal as the table''s owner.', current_user);
    END IF;
    IF reason IS NULL THEN
        SELECT format('the operator %s of column %I belongs to role %s', o.oid::regoperator, a.attname, pg_get_userbyid(p.proowner)),
               'Name a key of other columns.' INTO reason, remedy
        FROM pg_constraint AS con
        JOIN pg_index AS i ON i.indexrelid = con.conindid
        CROSS JOIN LATERAL unnest(con.conkey) WITH ORDINALITY AS k (number, place)
        JOIN pg_attribute AS a ON a.attrelid = relation AND a.attnum = k.number
        JOIN pg_opclass AS c ON c.oid = i.indclass[k.place - 1]
        JOIN pg_amop AS m ON m.amopfamily = c.opcfamily AND m.amoplefttype = c.opcintype AND m.amoprighttype = c.opcintype AND m.amopstrategy = 3
        JOIN pg_operator AS o ON o.oid = m.amopopr JOIN pg_proc AS p ON p.oid = o.oprcode
        WHERE con.oid = named.key AND p.proowner <> (SELECT r.oid FROM pg_roles AS r WHERE r.rolname = current_user)
          AND NOT EXISTS (SELECT FROM pg_roles AS r WHERE r.oid = p.proowner AND r.rolsuper) LIMIT 1;
    END IF;
    IF reason IS NOT NULL THEN
        RETURN NEXT;
    END IF;
END $$;
REVOKE EXECUTE ON FUNCTION dms.untrackable(oid, name) FROM PUBLIC;
-- drop: DROP FUNCTION dms.untrackable(oid, name);
