-- sql/postgres/tables/partitions.v1.sql: option partitions: each journal becomes a partitioned table of the same name, and what it was becomes
-- its default partition: nothing is read, written or checked, whatever its size. dms.ensure_partitions makes the others.
-- Runs after hold_everybody: no writer and no reader is between two journals. The view is made again, since it means tables, not names;
-- whatever else means the tables would go on with a part of their rows, so it is named and nothing is changed.
DO $$
DECLARE
    the_journal text;
    part text;
    old regclass;
    dependent text;
    changes text := pg_get_viewdef('dms.ResourceChange'::regclass);
    statement text;
    statements text[];
BEGIN
    FOREACH the_journal IN ARRAY ARRAY['DocumentChangeEvent', 'IdentityChangeEvent', 'KeyChangeEvent', 'DocumentDeleteEvent'] LOOP
        old := 'dms.' || the_journal;
        part := lower(the_journal) || '_default';
        EXECUTE format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE', old);
        SELECT string_agg(DISTINCT found.name, ', ') INTO dependent
        FROM (
            SELECT rule.ev_class::regclass::text AS name
            FROM pg_depend AS d JOIN pg_rewrite AS rule ON d.classid = 'pg_rewrite'::regclass AND rule.oid = d.objid
            WHERE d.refclassid = 'pg_class'::regclass AND d.refobjid = old AND rule.ev_class <> 'dms.ResourceChange'::regclass
            UNION ALL SELECT oid::regprocedure::text FROM pg_proc JOIN pg_depend AS d ON d.classid = 'pg_proc'::regclass AND d.objid = oid
            WHERE d.refclassid = 'pg_class'::regclass AND d.refobjid = old
            UNION ALL SELECT 'trigger ' || tgname FROM pg_trigger WHERE tgrelid = old AND tgname <> lower('TR_' || the_journal || '_Truncate')
            UNION ALL SELECT 'foreign key ' || conname FROM pg_constraint WHERE confrelid = old
            UNION ALL SELECT 'policy ' || polname FROM pg_policy WHERE polrelid = old
            UNION ALL SELECT 'publication ' || pubname FROM pg_publication JOIN pg_publication_rel ON prpubid = pg_publication.oid WHERE prrelid = old
        ) AS found;
        IF dependent IS NOT NULL THEN
            RAISE EXCEPTION 'dms.% is used by %, which would go on with a part of it', the_journal, dependent
                USING ERRCODE = 'DJ006', HINT = 'Drop it, add the option, and make it again.';
        END IF;

        -- What the new table has of the old one, as statements that name it; the old one's names are free when they run.
        SELECT coalesce(array_agg(listed.statement ORDER BY listed.ordinal, listed.part), '{}') INTO statements
        FROM (
            SELECT 1 AS ordinal, c.oid::bigint AS part,
                   format('ALTER TABLE dms.%s ADD CONSTRAINT %I %s', the_journal, c.conname, pg_get_constraintdef(c.oid)) AS statement
            FROM pg_constraint AS c WHERE c.conrelid = old AND c.contype = 'p'
            UNION ALL
            SELECT 2, x.indexrelid::bigint, pg_get_indexdef(x.indexrelid) FROM pg_index AS x WHERE x.indrelid = old AND NOT x.indisprimary
            UNION ALL
            SELECT 3, 0, format('ALTER TABLE dms.%s ATTACH PARTITION dms.%I DEFAULT', the_journal, part)
            UNION ALL
            SELECT 4, t.oid::bigint, pg_get_triggerdef(t.oid) FROM pg_trigger AS t WHERE t.tgrelid = old AND NOT t.tgisinternal
            UNION ALL
            SELECT 5, 0, format('COMMENT ON TABLE dms.%s IS %L', the_journal, obj_description(old, 'pg_class'))
            UNION ALL
            SELECT 6, 0, format('ALTER TABLE dms.%s OWNER TO %s', the_journal, c.relowner::regrole) FROM pg_class AS c WHERE c.oid = old
            UNION ALL
            SELECT 7, acl.ordinality, format('GRANT %s ON dms.%s TO %s%s', acl.privilege_type, the_journal,
                                             CASE WHEN acl.grantee = 0 THEN 'PUBLIC' ELSE acl.grantee::regrole::text END,
                                             CASE WHEN acl.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END)
            FROM pg_class AS c CROSS JOIN LATERAL aclexplode(c.relacl) WITH ORDINALITY AS acl WHERE c.oid = old
            UNION ALL
            SELECT 8, a.attnum * 1000 + acl.ordinality, format('GRANT %s (%I) ON dms.%s TO %s%s', acl.privilege_type, a.attname, the_journal,
                                                              CASE WHEN acl.grantee = 0 THEN 'PUBLIC' ELSE acl.grantee::regrole::text END,
                                                              CASE WHEN acl.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END)
            FROM pg_attribute AS a CROSS JOIN LATERAL aclexplode(a.attacl) WITH ORDINALITY AS acl WHERE a.attrelid = old
        ) AS listed;

        PERFORM dms.rename_partition(lower(the_journal), part);
        EXECUTE format('CREATE TABLE dms.%s (LIKE dms.%I INCLUDING DEFAULTS INCLUDING COMMENTS INCLUDING STORAGE) PARTITION BY RANGE (ChangeVersion)',
                       the_journal, part);
        FOREACH statement IN ARRAY statements LOOP
            EXECUTE statement;
        END LOOP;
        EXECUTE format('COMMENT ON TABLE dms.%I IS %L', part, 'dmsjournal: a part of ' || the_journal);
        PERFORM dms.note_partitions(the_journal, NULL);
    END LOOP;
    EXECUTE format('CREATE OR REPLACE VIEW %s AS %s', 'dms.ResourceChange', changes);
END $$;
