-- sql/postgres/queries/database/adopt_state.sql: how far an adoption is. Gives: has_documents, has_edges, has_cache, is_begun, has_versions (whether
-- dms.alembic_version is there, and ours), has_foreign_versions, has_stamps, has_times, has_names, has_keys, has_resource_key_id, has_resources.
SELECT to_regclass('dms.Document') IS NOT NULL AS has_documents,
       to_regclass('dms.ReferenceEdge') IS NOT NULL AS has_edges,
       to_regclass('dms.DocumentCache') IS NOT NULL AS has_cache,
       to_regclass('dms.ResourceKey') IS NOT NULL AS has_resources,
       to_regclass('dms.Adoption') IS NOT NULL AS is_begun,
       to_regclass('dms.alembic_version') IS NOT NULL
           AND (coalesce(obj_description(to_regclass('dms.alembic_version'), 'pg_class'), '') LIKE 'dmsjournal:%'
                OR to_regproc('dms.enter_change') IS NOT NULL AND 5 = (  -- as checks/installable.sql: a dump may leave comments out
                    SELECT count(*) FROM pg_class AS c WHERE c.relnamespace = to_regnamespace('dms') AND c.relkind IN ('r', 'S')
                      AND c.relname IN ('resourcekey', 'document', 'documentcache', 'referenceedge', 'changeversionsequence'))) AS has_versions,
       count(*) FILTER (WHERE attname IN ('contentversion', 'identityversion')) = 2 AS has_stamps,
       count(*) FILTER (WHERE attname IN ('contentlastmodifiedat', 'identitylastmodifiedat')) = 2 AS has_times,
       count(*) FILTER (WHERE attname IN ('projectname', 'resourcename', 'resourceversion')) = 3 AS has_names,
       count(*) FILTER (WHERE attname = 'keyvalues') = 1 AS has_keys,
       count(*) FILTER (WHERE attname = 'resourcekeyid') = 1 AS has_resource_key_id
FROM pg_attribute
WHERE attrelid = to_regclass('dms.Document') AND attnum > 0 AND NOT attisdropped
