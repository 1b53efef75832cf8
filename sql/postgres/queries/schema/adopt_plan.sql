-- sql/postgres/queries/schema/adopt_plan.sql: what is missing before the document tables have the shape that the migrations give them, as steps.
-- Binds: is_switched (whether the stamping triggers are there). Gives, in their order: name, kind (short: a statement in a transaction of
-- its own; online: outside of one; file: a file, as short; fill: batches), statement, lock, estimated_rows,
-- is_after_switch (whether it waits for the stamping triggers).
-- After adopt/model.sql, in the same transaction. Nothing is planned that is there: a killed adoption goes on by planning again.
-- Adding a column writes no row: its default is constant, or one that is computed once (now()), and replaced by the real one afterwards.
WITH named AS (
    SELECT count(*) = 3 AS has_names FROM pg_attribute
    WHERE attrelid = to_regclass('dms.Document') AND attname IN ('projectname', 'resourcename', 'resourceversion') AND NOT attisdropped
), trigger_of AS (  -- a document that refers to itself can be deleted only where the parent's trigger fires first, by its name
    SELECT c.conname AS name, min(g.tgname) AS tgname
    FROM pg_constraint AS c JOIN pg_trigger AS g ON g.tgconstraint = c.oid AND g.tgrelid = c.confrelid
    WHERE c.conrelid = to_regclass('dms.ReferenceEdge') GROUP BY c.conname
), required AS (  -- columns that become NOT NULL
    SELECT table_name, name, position, estimated_rows, format('adopt_%s', name) AS check_name,
           name IN ('documentid', 'documentuuid', 'parentdocumentid', 'childdocumentid') AS is_id,  -- batches go by them, once they are indexed
           EXISTS (SELECT FROM pg_constraint WHERE conrelid = to_regclass(format('dms.%I', table_name)) AND conname = format('adopt_%s', name)) AS checked
    FROM pg_temp.fitted_column
    WHERE required AND (present AND NOT found_required OR NOT present AND name = 'resourcekeyid' AND table_name = 'document')
), foreign_key AS (
    SELECT c.*, named IS NOT NULL AND named_definition = definition
               AND (c.name <> 'fk_referenceedge_referenced' OR EXISTS (
                   SELECT FROM trigger_of AS parent, trigger_of AS child
                   WHERE parent.name = 'fk_referenceedge_parent' AND child.name = c.name AND parent.tgname < child.tgname)) AS fits
    FROM pg_temp.fitted_constraint AS c WHERE c.type = 'f'
), step (rank, table_name, part, name, kind, statement, lock, estimated_rows) AS (
    SELECT 5, 'resourcekey', 0, 'create dms.ResourceKey', 'file', 'tables/ResourceKey.v1', 'none', 0
    FROM named WHERE has_names AND to_regclass('dms.ResourceKey') IS NULL
    UNION ALL
    SELECT 10, table_name, 0, format('add to dms.%s: %s', table_name, string_agg(name, ', ' ORDER BY position)), 'short',
           format('ALTER TABLE dms.%I %s; %s', table_name,
                  string_agg(format('ADD COLUMN %I %s%s', name, type,
                                    CASE WHEN NOT required OR (name = 'resourcekeyid' AND table_name = 'document') THEN ''
                                         ELSE ' NOT NULL DEFAULT ' || coalesce(replace(default_value, 'clock_timestamp()', 'now()'), '0') END),
                             ', ' ORDER BY position),
                  string_agg(format('ALTER TABLE dms.%I ALTER COLUMN %I SET DEFAULT %s; ', table_name, name, default_value), ''
                             ORDER BY position) FILTER (WHERE default_value LIKE '%clock_timestamp()%')),
           'ACCESS EXCLUSIVE', 0
    FROM pg_temp.fitted_column WHERE NOT present GROUP BY table_name
    UNION ALL
    SELECT 20, table_name, 0, format('give dms.%s the default of %s', table_name, string_agg(name, ', ' ORDER BY position)), 'short',
           format('ALTER TABLE dms.%I %s', table_name,
                  string_agg(format('ALTER COLUMN %I SET DEFAULT %s', name, default_value), ', ' ORDER BY position)),
           'ACCESS EXCLUSIVE', 0
    FROM pg_temp.fitted_column
    WHERE present AND default_value IS NOT NULL AND found_default IS NULL AND found_identity = '' GROUP BY table_name
    UNION ALL
    SELECT 30, 'document', 0, 'take names for ids from writers (TR_Document_Names)', 'file', 'adopt/names', 'SHARE ROW EXCLUSIVE', 0
    FROM named
    WHERE has_names AND NOT EXISTS (SELECT FROM pg_trigger WHERE tgrelid = to_regclass('dms.Document') AND tgname = 'tr_document_names')
    UNION ALL
    SELECT 62, 'document', 0, 'take values for nulls from writers', 'file', 'adopt/values', 'SHARE ROW EXCLUSIVE', 0
    WHERE EXISTS (SELECT FROM required WHERE table_name = 'document' AND NOT is_id AND name <> 'resourcekeyid')
      AND NOT EXISTS (SELECT FROM pg_trigger WHERE tgrelid = to_regclass('dms.Document') AND tgname = 'tr_document_adoption')
    UNION ALL
    SELECT 63, c.table_name, 0, 'set ResourceKeyId from the names', 'fill', 'resource keys', 'rows', estimated_rows
    FROM required AS c, named WHERE has_names AND c.name = 'resourcekeyid' AND c.table_name = 'document'
    UNION ALL
    SELECT 64, table_name, 0, format('fill what is null in dms.%s: %s', table_name, string_agg(name, ', ' ORDER BY position)), 'fill',
           table_name || ' values', 'rows', max(estimated_rows)
    FROM required
    WHERE table_name IN ('document', 'referenceedge')
      AND NOT is_id AND name <> 'resourcekeyid'
    GROUP BY table_name
    UNION ALL
    SELECT CASE WHEN c.is_id THEN 50 ELSE 65 END, c.table_name, 3 * c.position + part, format(wording, c.table_name, c.name), kind,
           CASE part WHEN 0 THEN format('ALTER TABLE dms.%I ADD CONSTRAINT %I CHECK (%I IS NOT NULL) NOT VALID', c.table_name, check_name, c.name)
                     WHEN 1 THEN format('ALTER TABLE dms.%I VALIDATE CONSTRAINT %I', c.table_name, check_name)
                     ELSE format('ALTER TABLE dms.%1$I ALTER COLUMN %2$I SET NOT NULL; ALTER TABLE dms.%1$I DROP CONSTRAINT %3$I',
                                 c.table_name, c.name, check_name) END,
           lock, CASE part WHEN 1 THEN estimated_rows ELSE 0 END
    FROM required AS c
    CROSS JOIN (VALUES (0, 'refuse nulls from now on in dms.%s.%s', 'short', 'ACCESS EXCLUSIVE'),
                       (1, 'look for nulls in dms.%s.%s', 'online', 'SHARE UPDATE EXCLUSIVE'),
                       (2, 'declare NOT NULL: dms.%s.%s', 'short', 'ACCESS EXCLUSIVE')) AS parts (part, wording, kind, lock)
    WHERE NOT (checked AND part = 0)
    UNION ALL
    SELECT 60, table_name, 0, format('rename constraint %s on dms.%s to %s', alike, table_name, name), 'short',
           format('ALTER TABLE dms.%I RENAME CONSTRAINT %I TO %I', table_name, alike, name), 'ACCESS EXCLUSIVE', 0
    FROM pg_temp.fitted_constraint WHERE type IN ('p', 'u', 'c') AND named IS NULL AND alike IS NOT NULL
    UNION ALL
    SELECT 61, c.table_name, part, format(wording, c.name, c.table_name), kind,
           CASE part WHEN 0 THEN format('DROP INDEX CONCURRENTLY dms.%I', c.name)
                     WHEN 1 THEN format('CREATE UNIQUE INDEX CONCURRENTLY %I ON dms.%I %s', c.name, c.table_name, substring(c.definition FROM '\(.*$'))
                     ELSE format('ALTER TABLE dms.%I ADD CONSTRAINT %I %s USING INDEX %I', c.table_name, c.name, split_part(c.definition, ' (', 1), c.name) END,
           lock, CASE part WHEN 1 THEN estimated_rows ELSE 0 END
    FROM pg_temp.fitted_constraint AS c
    LEFT JOIN pg_index AS i ON i.indexrelid = to_regclass(format('dms.%I', c.name))
    CROSS JOIN (VALUES (0, 'drop what a killed run left of index %s on dms.%s', 'online', 'SHARE UPDATE EXCLUSIVE'),
                       (1, 'build index %s on dms.%s', 'online', 'SHARE UPDATE EXCLUSIVE'),
                       (2, 'declare %s on dms.%s', 'short', 'ACCESS EXCLUSIVE')) AS parts (part, wording, kind, lock)
    WHERE type IN ('p', 'u') AND named IS NULL AND alike IS NULL
      AND (part = 2 OR part = 1 AND i.indisvalid IS NOT TRUE OR part = 0 AND NOT i.indisvalid)
    UNION ALL
    SELECT 70, 'document', 0, format('number %s by identity', string_agg(format('dms.%s.%s', table_name, name), ', ')), 'file',
           'adopt/identity', 'ACCESS EXCLUSIVE', 0
    FROM pg_temp.fitted_column WHERE numbered AND present AND found_identity <> 'd' HAVING count(*) > 0
    UNION ALL
    SELECT 80, i.table_name, part, format(wording, i.name, i.table_name), 'online',
           CASE part WHEN 0 THEN format('DROP INDEX CONCURRENTLY dms.%I', i.name)
                     ELSE replace(i.definition, 'CREATE INDEX', 'CREATE INDEX CONCURRENTLY') END,
           'SHARE UPDATE EXCLUSIVE', CASE part WHEN 1 THEN estimated_rows ELSE 0 END
    FROM (
        SELECT name, table_name, definition, found, valid, estimated_rows FROM pg_temp.fitted_index
        UNION ALL  -- finds the highest stamp at once, while writers are held
        SELECT 'adoption_stamps', t.name, 'CREATE INDEX adoption_stamps ON dms.document (greatest(contentversion, identityversion))',
               i.indexrelid, coalesce(i.indisvalid, false), t.estimated_rows
        FROM pg_temp.fitted_table AS t LEFT JOIN pg_index AS i ON i.indexrelid = to_regclass('dms.adoption_stamps')
        WHERE t.name = 'document' AND NOT CAST(:is_switched AS boolean)
    ) AS i
    CROSS JOIN (VALUES (0, 'drop what a killed run left of index %s on dms.%s'), (1, 'build index %s on dms.%s')) AS parts (part, wording)
    WHERE NOT valid AND (part = 1 OR found IS NOT NULL)
    UNION ALL
    SELECT 90, c.table_name, CASE c.name WHEN 'fk_referenceedge_referenced' THEN 3 ELSE 0 END,
           format('refuse from now on what breaks %s on dms.%s', c.name, c.table_name), 'short',
           format('ALTER TABLE dms.%I %sADD CONSTRAINT %I %s NOT VALID', c.table_name,
                  CASE WHEN c.named IS NULL THEN '' ELSE format('DROP CONSTRAINT %I, ', c.name) END, c.name, c.definition),
           CASE WHEN c.named IS NULL AND c.type = 'f' THEN 'SHARE ROW EXCLUSIVE' ELSE 'ACCESS EXCLUSIVE' END, 0
    FROM pg_temp.fitted_constraint AS c LEFT JOIN foreign_key AS f USING (table_name, name)
    WHERE c.type = 'c' AND c.named IS NULL AND c.alike IS NULL OR c.type = 'f' AND NOT f.fits
    UNION ALL
    SELECT 91, c.table_name, 0, format('look for what breaks %s on dms.%s', c.name, c.table_name), 'online',
           format('ALTER TABLE dms.%I VALIDATE CONSTRAINT %I', c.table_name, c.name), 'SHARE UPDATE EXCLUSIVE', c.estimated_rows
    FROM pg_temp.fitted_constraint AS c LEFT JOIN foreign_key AS f USING (table_name, name)
    WHERE c.type = 'c' AND c.alike IS NULL AND NOT c.validated OR c.type = 'f' AND (NOT f.fits OR NOT c.validated)
    UNION ALL
    SELECT 92, c.table_name, 0, format('drop %s on dms.%s, which %s replaces', theirs.conname, c.table_name, c.name), 'short',
           format('ALTER TABLE dms.%I DROP CONSTRAINT %I', c.table_name, theirs.conname), 'ACCESS EXCLUSIVE', 0
    FROM foreign_key AS c
    JOIN pg_constraint AS theirs ON theirs.conrelid = c.found_table AND theirs.contype = 'f' AND theirs.conname <> c.name
         AND split_part(pg_get_constraintdef(theirs.oid), ' REFERENCES', 1) = split_part(c.definition, ' REFERENCES', 1)
    UNION ALL
    SELECT 100, name, 0, 'keep ParentResourceKeyId of what writers write', 'file', 'adopt/parents', 'SHARE ROW EXCLUSIVE', 0
    FROM pg_temp.fitted_table
    WHERE name = 'referenceedge' AND found IS NOT NULL AND NOT CAST(:is_switched AS boolean)
      AND NOT EXISTS (SELECT FROM pg_trigger WHERE tgrelid = found AND tgname = 'zz_referenceedge_adoption')
    UNION ALL
    SELECT 101, name, 0, 'set ParentResourceKeyId of all edges', 'fill', 'parents', 'rows', estimated_rows
    FROM pg_temp.fitted_table WHERE name = 'referenceedge' AND found IS NOT NULL AND NOT CAST(:is_switched AS boolean)
    UNION ALL
    SELECT 110, 'referenceedge', 0, 'take away the triggers that were for the adoption', 'file', 'adopt/switched', 'ACCESS EXCLUSIVE', 0
    WHERE NOT CAST(:is_switched AS boolean) OR (to_regproc('dms.adopt_parent_resource') IS NOT NULL OR to_regproc('dms.adopt_document_values') IS NOT NULL OR EXISTS (
        SELECT FROM pg_temp.fitted_column WHERE name = 'parentresourcekeyid' AND found_default IS NOT NULL))
    UNION ALL
    SELECT 111, 'document', 0, 'drop index adoption_stamps', 'online', 'DROP INDEX CONCURRENTLY dms.adoption_stamps', 'SHARE UPDATE EXCLUSIVE', 0
    WHERE NOT CAST(:is_switched AS boolean) OR to_regclass('dms.adoption_stamps') IS NOT NULL
)
SELECT name, kind, statement, lock, CAST(estimated_rows AS bigint) AS estimated_rows, rank > 101 AS is_after_switch
FROM step ORDER BY rank, table_name DESC, part, name
