-- sql/postgres/queries/schema/foreign_objects.sql: what in schema dms the installing role must not take for its own (invariant 13). A mark is a
-- comment, and any role can write one on an object of its own: the owner alone is proof, for a superuser too.
-- Binds: installer (a role's name; null: the current role). Gives, in order of kind and subject: kind, subject, name, owner, found.
--   kind: owner (another role owns it), right (another role may create there), kind (it is not what a migration makes under this name),
--   shape (a setting of a table that loses, hides or rewrites rows), reached (it runs or means what another role owns), grant (another role
--   may create triggers on the table; a migration goes on, since nothing of that role is there yet).
--   subject: type and name, as --trust takes them. name: the bare name of a relation or routine of the schema, else the subject.
-- Reads the catalog alone: nothing of the schema runs, no row of it is read. What a superuser owns outside of the schema is trusted: a
-- superuser needs no trick. checks/owned.sql runs the same text before a migration.
WITH installer AS (
    SELECT r.oid AS id, r.rolname AS name FROM pg_roles AS r WHERE r.rolname = coalesce(CAST(:installer AS name), current_user)
), the_schema AS (
    SELECT n.oid AS id, n.nspowner AS owner, n.nspacl AS acl FROM pg_namespace AS n WHERE n.nspname = 'dms'
), owned AS (
    SELECT 'pg_namespace'::regclass::oid AS class, s.id, s.owner, CAST(NULL AS text) AS name FROM the_schema AS s
    UNION ALL
    SELECT 'pg_class'::regclass, c.oid, c.relowner, c.relname
    FROM pg_class AS c JOIN the_schema AS s ON s.id = c.relnamespace WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S')
    UNION ALL
    SELECT 'pg_proc'::regclass, p.oid, p.proowner, p.proname FROM pg_proc AS p JOIN the_schema AS s ON s.id = p.pronamespace
    UNION ALL
    SELECT 'pg_type'::regclass, y.oid, y.typowner, NULL FROM pg_type AS y JOIN the_schema AS s ON s.id = y.typnamespace
    WHERE NOT EXISTS (SELECT FROM pg_class AS c WHERE c.oid = y.typrelid AND c.relkind <> 'c')  -- a table's row type
      AND NOT EXISTS (SELECT FROM pg_type AS element WHERE element.typarray = y.oid)
      AND NOT EXISTS (SELECT FROM pg_range AS ranged WHERE ranged.rngmultitypid = y.oid)
    UNION ALL
    SELECT 'pg_operator'::regclass, o.oid, o.oprowner, NULL FROM pg_operator AS o JOIN the_schema AS s ON s.id = o.oprnamespace
    UNION ALL
    SELECT 'pg_opclass'::regclass, o.oid, o.opcowner, NULL FROM pg_opclass AS o JOIN the_schema AS s ON s.id = o.opcnamespace
    UNION ALL
    SELECT 'pg_opfamily'::regclass, o.oid, o.opfowner, NULL FROM pg_opfamily AS o JOIN the_schema AS s ON s.id = o.opfnamespace
    UNION ALL
    SELECT 'pg_collation'::regclass, o.oid, o.collowner, NULL FROM pg_collation AS o JOIN the_schema AS s ON s.id = o.collnamespace
    UNION ALL
    SELECT 'pg_conversion'::regclass, o.oid, o.conowner, NULL FROM pg_conversion AS o JOIN the_schema AS s ON s.id = o.connamespace
    UNION ALL
    SELECT 'pg_statistic_ext'::regclass, o.oid, o.stxowner, NULL FROM pg_statistic_ext AS o JOIN the_schema AS s ON s.id = o.stxnamespace
    UNION ALL
    SELECT 'pg_ts_config'::regclass, o.oid, o.cfgowner, NULL FROM pg_ts_config AS o JOIN the_schema AS s ON s.id = o.cfgnamespace
    UNION ALL
    SELECT 'pg_ts_dict'::regclass, o.oid, o.dictowner, NULL FROM pg_ts_dict AS o JOIN the_schema AS s ON s.id = o.dictnamespace
), others AS (  -- what an extension brought is a superuser's, who put its files on the server
    SELECT o.* FROM owned AS o CROSS JOIN installer AS i
    WHERE o.owner <> i.id
      AND NOT EXISTS (
          SELECT FROM pg_depend AS d JOIN pg_roles AS r ON r.oid = o.owner AND r.rolsuper
          WHERE d.classid = o.class AND d.objid = o.id AND d.deptype = 'e')
), relation AS (
    SELECT c.oid AS id, c.relname AS name, c.relkind AS kind, c.relpersistence AS persistence, c.relforcerowsecurity AS is_forced,
           c.relispartition AS is_part, expected.kinds IS NOT NULL AS is_ours, expected.kinds ~ CAST(c.relkind AS text) AS fits,
           c.relowner <> i.id AS is_anothers
    FROM pg_class AS c
    JOIN the_schema AS s ON s.id = c.relnamespace
    CROSS JOIN installer AS i
    LEFT JOIN (VALUES
        ('adoption', 'r'), ('adoptionbefore', 'r'), ('alembic_version', 'r'), ('changeconsumer', 'r'), ('changecontext', 'r'),
        ('changeversionsequence', 'S'),
        ('document', 'r'), ('documentcache', 'r'), ('documentchangeevent', 'rp'), ('documentdeleteevent', 'rp'), ('documentimage', 'r'),
        ('documentimagefloor', 'r'), ('feeddatabase', 'r'), ('feedgeneration', 'r'), ('identitychangeevent', 'rp'), ('imageexclusion', 'r'), ('journalfloor', 'r'),
        ('journalpartition', 'v'), ('keychangeevent', 'rp'), ('knownpartition', 'r'), ('lease', 'r'), ('maxdepidentitypending', 'r'),
        ('partitionsettings', 'r'), ('referenceedge', 'r'), ('resourcechange', 'v'),
        ('resourcedependency', 'r'), ('resourcekey', 'r'), ('trackedlate', 'r'), ('trackedrekey', 'r'), ('trackedtable', 'r')) AS expected (name, kinds) ON expected.name = c.relname
    WHERE c.relkind NOT IN ('i', 'I', 'c', 't')
), carrier AS (  -- what can name something to run or to mean
    SELECT 'pg_class'::regclass::oid AS class, r.id AS id FROM relation AS r
    UNION ALL
    SELECT 'pg_class'::regclass, x.indexrelid FROM pg_index AS x JOIN relation AS r ON r.id = x.indrelid
    UNION ALL
    SELECT 'pg_attrdef'::regclass, f.oid FROM pg_attrdef AS f JOIN relation AS r ON r.id = f.adrelid
    UNION ALL
    SELECT 'pg_constraint'::regclass, c.oid FROM pg_constraint AS c JOIN relation AS r ON r.id = c.conrelid
    UNION ALL
    SELECT 'pg_constraint'::regclass, c.oid FROM pg_constraint AS c JOIN owned AS o ON o.class = 'pg_type'::regclass AND o.id = c.contypid
    UNION ALL
    SELECT 'pg_rewrite'::regclass, w.oid FROM pg_rewrite AS w JOIN relation AS r ON r.id = w.ev_class
    UNION ALL
    SELECT 'pg_policy'::regclass, p.oid FROM pg_policy AS p JOIN relation AS r ON r.id = p.polrelid
    UNION ALL
    SELECT 'pg_trigger'::regclass, t.oid FROM pg_trigger AS t JOIN relation AS r ON r.id = t.tgrelid WHERE NOT t.tgisinternal
    UNION ALL
    SELECT 'pg_statistic_ext'::regclass, x.oid FROM pg_statistic_ext AS x JOIN relation AS r ON r.id = x.stxrelid
    UNION ALL
    SELECT o.class, o.id FROM owned AS o WHERE o.class <> 'pg_class'::regclass
), edge AS (
    SELECT DISTINCT c.class, c.id, d.refclassid, d.refobjid
    FROM carrier AS c JOIN pg_depend AS d ON d.classid = c.class AND d.objid = c.id AND d.deptype IN ('n', 'a')
    WHERE d.refclassid IN ('pg_proc'::regclass, 'pg_operator'::regclass, 'pg_type'::regclass, 'pg_collation'::regclass, 'pg_opclass'::regclass,
                           'pg_ts_config'::regclass, 'pg_ts_dict'::regclass)
       OR d.refclassid = 'pg_class'::regclass AND c.class IN ('pg_rewrite'::regclass, 'pg_proc'::regclass)  -- what a rule or a view reads or writes
), reached AS (
    SELECT e.*, CASE e.refclassid
               WHEN 'pg_proc'::regclass THEN (SELECT p.proowner FROM pg_proc AS p WHERE p.oid = e.refobjid)
               WHEN 'pg_operator'::regclass THEN (SELECT o.oprowner FROM pg_operator AS o WHERE o.oid = e.refobjid)
               WHEN 'pg_type'::regclass THEN (SELECT y.typowner FROM pg_type AS y WHERE y.oid = e.refobjid)
               WHEN 'pg_collation'::regclass THEN (SELECT o.collowner FROM pg_collation AS o WHERE o.oid = e.refobjid)
               WHEN 'pg_opclass'::regclass THEN (SELECT o.opcowner FROM pg_opclass AS o WHERE o.oid = e.refobjid)
               WHEN 'pg_ts_config'::regclass THEN (SELECT o.cfgowner FROM pg_ts_config AS o WHERE o.oid = e.refobjid)
               WHEN 'pg_ts_dict'::regclass THEN (SELECT o.dictowner FROM pg_ts_dict AS o WHERE o.oid = e.refobjid)
               ELSE (SELECT c.relowner FROM pg_class AS c WHERE c.oid = e.refobjid) END AS owner
    FROM edge AS e
), told AS (
    SELECT 'owner' AS kind, o.class, o.id, o.name, o.owner,
           format('role %s does not own it, %s does', i.name, pg_get_userbyid(o.owner)) AS found
    FROM others AS o CROSS JOIN installer AS i
    UNION ALL
    SELECT 'right', 'pg_namespace'::regclass, s.id, NULL, s.owner,
           format('%s may create objects in it', CASE WHEN acl.grantee = 0 THEN 'PUBLIC' ELSE 'role ' || pg_get_userbyid(acl.grantee) END)
    FROM the_schema AS s CROSS JOIN installer AS i CROSS JOIN LATERAL aclexplode(s.acl) AS acl
    WHERE acl.privilege_type = 'CREATE' AND acl.grantee NOT IN (i.id, s.owner)
      AND NOT EXISTS (SELECT FROM pg_roles AS r WHERE r.oid = acl.grantee AND r.rolsuper)
    UNION ALL
    SELECT 'grant', 'pg_class'::regclass, r.id, r.name, i.id,
           format('%s may create triggers on it', CASE WHEN acl.grantee = 0 THEN 'PUBLIC' ELSE 'role ' || pg_get_userbyid(acl.grantee) END)
    FROM relation AS r CROSS JOIN installer AS i JOIN pg_class AS c ON c.oid = r.id CROSS JOIN LATERAL aclexplode(c.relacl) AS acl
    WHERE r.kind IN ('r', 'p') AND acl.privilege_type = 'TRIGGER' AND acl.grantee NOT IN (i.id, c.relowner)
      AND NOT EXISTS (SELECT FROM pg_roles AS o WHERE o.oid = acl.grantee AND o.rolsuper)
    UNION ALL
    SELECT 'kind', 'pg_class'::regclass, r.id, r.name, i.id, 'a migration makes something else under this name'
    FROM relation AS r CROSS JOIN installer AS i WHERE r.is_ours AND NOT r.fits
    UNION ALL
    SELECT 'shape', 'pg_class'::regclass, r.id, r.name, i.id,
           CASE WHEN r.persistence <> 'p' THEN 'it is not permanent: a crash empties it'
                WHEN r.is_forced THEN 'row level security is forced on its owner, whose triggers must see every row'
                ELSE 'it shares rows with another table (INHERITS)' END
    FROM relation AS r CROSS JOIN installer AS i
    WHERE r.is_ours AND r.kind IN ('r', 'p')
      AND (r.persistence <> 'p' OR r.is_forced
           OR r.kind = 'r' AND NOT r.is_part AND EXISTS (SELECT FROM pg_inherits AS h WHERE r.id IN (h.inhparent, h.inhrelid)))
    UNION ALL
    SELECT 'shape', 'pg_rewrite'::regclass, w.oid, NULL, i.id, 'it rewrites statements past the triggers'
    FROM pg_rewrite AS w JOIN relation AS r ON r.id = w.ev_class AND r.kind IN ('r', 'p', 'f') AND (r.is_ours OR r.is_anothers) CROSS JOIN installer AS i
    UNION ALL
    SELECT 'owner', 'pg_trigger'::regclass, t.oid, NULL, c.relowner, format('it is on a table of role %s''s', pg_get_userbyid(c.relowner))
    FROM pg_trigger AS t JOIN relation AS r ON r.id = t.tgrelid AND r.is_anothers JOIN pg_class AS c ON c.oid = r.id WHERE NOT t.tgisinternal
    UNION ALL
    SELECT 'owner', 'pg_policy'::regclass, p.oid, NULL, c.relowner, format('it is on a table of role %s''s', pg_get_userbyid(c.relowner))
    FROM pg_policy AS p JOIN relation AS r ON r.id = p.polrelid AND r.is_anothers JOIN pg_class AS c ON c.oid = r.id
    UNION ALL
    SELECT 'reached', e.class, e.id, NULL, e.owner,
           format('it uses %s %s, which belongs to role %s', used.type, used.identity, pg_get_userbyid(e.owner))
    FROM reached AS e
    CROSS JOIN installer AS i
    CROSS JOIN LATERAL pg_identify_object(e.refclassid, e.refobjid, 0) AS used
    WHERE e.owner <> i.id AND NOT EXISTS (SELECT FROM pg_roles AS r WHERE r.oid = e.owner AND r.rolsuper)
      AND NOT EXISTS (SELECT FROM others AS o WHERE o.class = e.refclassid AND o.id = e.refobjid)  -- named by itself
)
SELECT t.kind, regexp_replace(object.type || ' ' || object.identity, '[\x01-\x1f\x7f-\x9f]', '?', 'g') AS subject,  -- a name may be written for a terminal
       regexp_replace(coalesce(t.name, object.type || ' ' || object.identity), '[\x01-\x1f\x7f-\x9f]', '?', 'g') AS name,
       regexp_replace(pg_get_userbyid(t.owner), '[\x01-\x1f\x7f-\x9f]', '?', 'g') AS owner, regexp_replace(t.found, '[\x01-\x1f\x7f-\x9f]', '?', 'g') AS found
FROM told AS t CROSS JOIN LATERAL pg_identify_object(t.class, t.id, 0) AS object
ORDER BY CASE t.kind WHEN 'owner' THEN 1 WHEN 'right' THEN 2 WHEN 'kind' THEN 3 WHEN 'shape' THEN 4 WHEN 'reached' THEN 5 ELSE 6 END,
         t.class <> 'pg_namespace'::regclass, subject, found
