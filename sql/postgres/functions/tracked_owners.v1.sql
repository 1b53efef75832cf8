-- sql/postgres/functions/tracked_owners.v1.sql: the roles, beside the installing role and superusers, whose functions can run with the installing role's
-- rights when our triggers read a table: the owners of the table and of its parts, which can add an index at any time, and the owners of what indexes,
-- constraints, statistics and partition keys use now. The planner evaluates such expressions for each role that reads. Reads the catalog alone.
CREATE FUNCTION dms.tracked_owners(relation oid) RETURNS TABLE (role name, reason text)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp SET jit = off AS $$  -- the recursion is estimated so dear that its plan would be compiled at each call
    WITH RECURSIVE part AS (
        SELECT relation AS id
        UNION
        SELECT h.inhrelid FROM part AS p JOIN pg_inherits AS h ON h.inhparent = p.id
    ), reach AS (  -- what an object of the table or of a part runs or means
        SELECT o.class, o.id, o.class AS of_class, o.id AS of_id
        FROM part AS p
        CROSS JOIN LATERAL (
            SELECT 'pg_class'::regclass::oid, p.id
            UNION ALL
            SELECT 'pg_class'::regclass, x.indexrelid FROM pg_index AS x WHERE x.indrelid = p.id
            UNION ALL
            SELECT 'pg_constraint'::regclass, c.oid FROM pg_constraint AS c WHERE c.conrelid = p.id
            UNION ALL
            SELECT 'pg_statistic_ext'::regclass, x.oid FROM pg_statistic_ext AS x WHERE x.stxrelid = p.id) AS o (class, id)
        UNION
        SELECT n.class, n.id, r.of_class, r.of_id
        FROM reach AS r
        CROSS JOIN LATERAL (
            SELECT d.refclassid, d.refobjid FROM pg_depend AS d
            WHERE d.classid = r.class AND d.objid = r.id AND d.deptype IN ('n', 'a')
              AND (d.refclassid IN ('pg_proc'::regclass, 'pg_operator'::regclass, 'pg_opclass'::regclass)
                   OR d.refclassid = 'pg_type'::regclass AND NOT EXISTS (SELECT FROM part AS p WHERE p.id = r.id))  -- a column's own type runs nothing when it is read
            UNION ALL
            SELECT 'pg_proc'::regclass, o.oprcode FROM pg_operator AS o WHERE r.class = 'pg_operator'::regclass AND o.oid = r.id
            UNION ALL
            SELECT 'pg_proc'::regclass, m.amproc FROM pg_opclass AS c JOIN pg_amproc AS m ON m.amprocfamily = c.opcfamily
            WHERE r.class = 'pg_opclass'::regclass AND c.oid = r.id
            UNION ALL
            SELECT 'pg_constraint'::regclass, c.oid FROM pg_constraint AS c WHERE r.class = 'pg_type'::regclass AND c.contypid = r.id) AS n (class, id)
    ), told AS (
        SELECT 1 AS place, c.relowner AS owner,
               CASE WHEN c.oid = relation THEN 'it' ELSE format('its part %s', c.oid::regclass) END || ' belongs to role ' || pg_get_userbyid(c.relowner) AS reason
        FROM part AS p JOIN pg_class AS c ON c.oid = p.id
        UNION ALL
        SELECT 2, u.owner, format('%s uses %s, which belongs to role %s', pg_describe_object(u.of_class, u.of_id, 0), pg_describe_object(u.class, u.id, 0),
                                  pg_get_userbyid(u.owner))
        FROM (SELECT r.*, CASE r.class
                      WHEN 'pg_proc'::regclass THEN (SELECT p.proowner FROM pg_proc AS p WHERE p.oid = r.id)
                      WHEN 'pg_operator'::regclass THEN (SELECT o.oprowner FROM pg_operator AS o WHERE o.oid = r.id)
                      WHEN 'pg_opclass'::regclass THEN (SELECT o.opcowner FROM pg_opclass AS o WHERE o.oid = r.id)
                      WHEN 'pg_type'::regclass THEN (SELECT y.typowner FROM pg_type AS y WHERE y.oid = r.id) END AS owner
              FROM reach AS r) AS u
    )
    SELECT a.rolname, t.reason
    FROM told AS t JOIN pg_roles AS a ON a.oid = t.owner
    WHERE NOT a.rolsuper AND a.oid <> (SELECT n.nspowner FROM pg_namespace AS n WHERE n.nspname = 'dms')
    ORDER BY t.place, t.reason
$$;
REVOKE EXECUTE ON FUNCTION dms.tracked_owners(oid) FROM PUBLIC;
-- drop: DROP FUNCTION dms.tracked_owners(oid);
