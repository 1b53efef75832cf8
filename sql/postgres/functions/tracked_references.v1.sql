-- sql/postgres/functions/tracked_references.v1.sql: the foreign keys from or to a tracked table, where both tables are tracked, each once: from one
-- (parent) to one (child), also one to a part of it. `matches` is SQL that compares the child's columns (s) with the parent's (r), under the child's collation.
-- is_late: the referred row may come after the row that refers to it, since the constraint is deferrable, not valid or not enforced.
CREATE FUNCTION dms.tracked_references(tracked_id smallint)
RETURNS TABLE (constraint_id oid, name name, parent_id smallint, child_id smallint, parent_columns name[], child_columns name[], matches text,
               is_late boolean, is_identity boolean)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    WITH tracked AS MATERIALIZED (
        SELECT t.TrackedTableId AS id, dms.tracked_relation(t.TrackedTableId) AS relation FROM dms.TrackedTable AS t
    )
    SELECT con.oid, con.conname, parent.id, child.id,
           ARRAY(SELECT a.attname FROM unnest(con.conkey) WITH ORDINALITY AS k (number, ordinality)
                 JOIN pg_attribute AS a ON a.attrelid = con.conrelid AND a.attnum = k.number ORDER BY k.ordinality),
           ARRAY(SELECT a.attname FROM unnest(con.confkey) WITH ORDINALITY AS k (number, ordinality)
                 JOIN pg_attribute AS a ON a.attrelid = con.confrelid AND a.attnum = k.number ORDER BY k.ordinality),
           (SELECT string_agg(format(dms.tracked_operator(k.operator),
                                     format(CASE WHEN is_left.same THEN '%s' ELSE 'CAST(%s AS %s)' END, format('s.%I', target.attname), format_type(o.oprleft, -1)),
                                     format(CASE WHEN is_right.same THEN '%s' ELSE 'CAST(%s AS %s)' END, format('r.%I', source.attname), format_type(o.oprright, -1))
                                     || coalesce((SELECT format(' COLLATE %I.%I', n.nspname, l.collname) FROM pg_collation AS l JOIN pg_namespace AS n ON n.oid = l.collnamespace
                                                  WHERE l.oid = target.attcollation AND source.attcollation <> 0 AND source.attcollation <> target.attcollation), '')),
                              ' AND ' ORDER BY k.ordinality)
            FROM unnest(con.conkey, con.confkey, con.conpfeqop) WITH ORDINALITY AS k (source, target, operator, ordinality)
            JOIN pg_operator AS o ON o.oid = k.operator
            JOIN pg_attribute AS source ON source.attrelid = parent.relation AND source.attnum = k.source
            JOIN pg_attribute AS named ON named.attrelid = con.confrelid AND named.attnum = k.target
            JOIN pg_attribute AS target ON target.attrelid = child.relation AND target.attname = named.attname
            -- Of another type than the operator takes, an operand is cast as the constraint casts it: the parser might take another operator.
            CROSS JOIN LATERAL (SELECT y.oid = target.atttypid OR y.typtype = 'p' AS same FROM pg_type AS y WHERE y.oid = o.oprleft) AS is_left
            CROSS JOIN LATERAL (SELECT y.oid = source.atttypid OR y.typtype = 'p' AS same FROM pg_type AS y WHERE y.oid = o.oprright) AS is_right),
           con.condeferrable OR NOT con.convalidated OR to_jsonb(con) ->> 'conenforced' = 'false',  -- the last from 18 on
           con.conkey <@ ARRAY(SELECT key.attnum FROM dms.tracked_key(parent.id) AS key)
    FROM tracked AS parent
    JOIN pg_constraint AS con ON con.conrelid = parent.relation AND con.contype = 'f' AND con.conparentid = 0
    JOIN tracked AS child ON child.relation = coalesce(pg_partition_root(con.confrelid)::oid, con.confrelid)
    WHERE tracked_id IN (parent.id, child.id)
    ORDER BY parent.id, con.conname
$$;
REVOKE EXECUTE ON FUNCTION dms.tracked_references(smallint) FROM PUBLIC;
-- drop: DROP FUNCTION dms.tracked_references(smallint);
