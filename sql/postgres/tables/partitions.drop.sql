-- sql/postgres/tables/partitions.drop.sql: option partitions goes: each journal becomes one table again. The largest part becomes it, the rows
-- of the others are written into it, so it takes as long as those take. Runs after hold_everybody.
DO $$
DECLARE
    the_journal text;
    part text;
    kept text;
    parent regclass;
    changes text := pg_get_viewdef('dms.ResourceChange'::regclass);
    columns text := (SELECT string_agg(format('CAST(NULL AS %s) AS %I', format_type(a.atttypid, a.atttypmod), a.attname), ', ' ORDER BY a.attnum)
                     FROM pg_attribute AS a WHERE a.attrelid = 'dms.ResourceChange'::regclass AND a.attnum > 0);
    statement text;
    statements text[];
    renamed text[];
BEGIN
    EXECUTE format('CREATE OR REPLACE VIEW %s AS SELECT %s', 'dms.ResourceChange', columns);  -- so that it does not hold on to what goes
    FOREACH the_journal IN ARRAY ARRAY['DocumentChangeEvent', 'IdentityChangeEvent', 'KeyChangeEvent', 'DocumentDeleteEvent'] LOOP
        parent := 'dms.' || the_journal;
        EXECUTE format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE', parent);
        PERFORM dms.forget_bounds(the_journal);
        SELECT p.Partition INTO kept FROM dms.JournalPartition AS p WHERE p.Journal = the_journal
        ORDER BY pg_relation_size(format('dms.%I', p.Partition)::regclass) DESC, p.IsDefault DESC LIMIT 1;

        -- The names of the journal's indexes, for those of the table that stays, which the server knows to be the same.
        SELECT coalesce(array_agg(format('ALTER INDEX dms.%I RENAME TO %I', mine.relname, theirs.relname)), '{}') INTO renamed
        FROM pg_index AS x
        JOIN pg_class AS mine ON mine.oid = x.indexrelid
        JOIN pg_inherits AS link ON link.inhrelid = mine.oid
        JOIN pg_class AS theirs ON theirs.oid = link.inhparent
        WHERE x.indrelid = format('dms.%I', kept)::regclass;
        SELECT array_agg(listed.statement ORDER BY listed.ordinal, listed.part) INTO statements
        FROM (
            SELECT 1 AS ordinal, 0::bigint AS part, format('COMMENT ON TABLE dms.%s IS %L', the_journal, obj_description(parent, 'pg_class')) AS statement
            UNION ALL
            SELECT 2, 0, format('REVOKE ALL ON dms.%s FROM %s', the_journal, CASE WHEN acl.grantee = 0 THEN 'PUBLIC' ELSE acl.grantee::regrole::text END)
            FROM pg_class AS c CROSS JOIN LATERAL aclexplode(c.relacl) AS acl
            WHERE c.oid = format('dms.%I', kept)::regclass AND acl.grantee <> c.relowner
            UNION ALL
            SELECT 3, acl.ordinality, format('GRANT %s ON dms.%s TO %s%s', acl.privilege_type, the_journal,
                                             CASE WHEN acl.grantee = 0 THEN 'PUBLIC' ELSE acl.grantee::regrole::text END,
                                             CASE WHEN acl.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END)
            FROM pg_class AS c CROSS JOIN LATERAL aclexplode(c.relacl) WITH ORDINALITY AS acl WHERE c.oid = parent
            UNION ALL
            SELECT 4, a.attnum * 1000 + acl.ordinality, format('GRANT %s (%I) ON dms.%s TO %s%s', acl.privilege_type, a.attname, the_journal,
                                                              CASE WHEN acl.grantee = 0 THEN 'PUBLIC' ELSE acl.grantee::regrole::text END,
                                                              CASE WHEN acl.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END)
            FROM pg_attribute AS a CROSS JOIN LATERAL aclexplode(a.attacl) WITH ORDINALITY AS acl WHERE a.attrelid = parent
        ) AS listed;

        EXECUTE format('ALTER TABLE %s DETACH PARTITION dms.%I', parent, kept);
        FOR part IN SELECT p.Partition FROM dms.JournalPartition AS p WHERE p.Journal = the_journal LOOP
            EXECUTE format('INSERT INTO dms.%I SELECT * FROM dms.%I', kept, part);
        END LOOP;
        FOR part IN
            SELECT c.relname FROM pg_class AS c
            WHERE c.relnamespace = 'dms'::regnamespace AND c.relname ~ ('^' || lower(the_journal) || '_split_\d+$')  -- of a split that was killed
        LOOP
            EXECUTE format('DROP TABLE dms.%I', part);
        END LOOP;
        EXECUTE format('DROP TABLE %s', parent);
        EXECUTE format('ALTER TABLE dms.%I RENAME TO %I', kept, lower(the_journal));
        FOREACH statement IN ARRAY renamed || statements LOOP
            EXECUTE statement;
        END LOOP;
    END LOOP;
    EXECUTE format('CREATE OR REPLACE VIEW %s AS %s', 'dms.ResourceChange', changes);
END $$;
