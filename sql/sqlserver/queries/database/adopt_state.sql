-- sql/sqlserver/queries/database/adopt_state.sql: how far an adoption is. Gives: has_documents, has_edges, has_cache, is_begun, has_versions (whether
-- dms.alembic_version is there, and ours), has_stamps, has_times, has_names, has_keys, has_resource_key_id, has_resources.
SELECT CASE WHEN OBJECT_ID(N'dms.Document') IS NULL THEN 0 ELSE 1 END AS has_documents,
       CASE WHEN OBJECT_ID(N'dms.ReferenceEdge') IS NULL THEN 0 ELSE 1 END AS has_edges,
       CASE WHEN OBJECT_ID(N'dms.DocumentCache') IS NULL THEN 0 ELSE 1 END AS has_cache,
       CASE WHEN OBJECT_ID(N'dms.ResourceKey') IS NULL THEN 0 ELSE 1 END AS has_resources,
       CASE WHEN OBJECT_ID(N'dms.Adoption') IS NULL THEN 0 ELSE 1 END AS is_begun,
       CASE WHEN OBJECT_ID(N'dms.alembic_version') IS NOT NULL AND (
           EXISTS (
               SELECT * FROM sys.extended_properties
               WHERE class = 1 AND major_id = OBJECT_ID(N'dms.alembic_version') AND minor_id = 0 AND name = N'dmsjournal')
           OR (OBJECT_ID(N'dms.enter_change') IS NOT NULL AND 5 = (  -- as checks/installable.sql: an export may leave properties out
               SELECT COUNT(*) FROM sys.objects AS o WHERE o.schema_id = SCHEMA_ID(N'dms')
                 AND LOWER(o.name COLLATE Latin1_General_100_BIN2) IN (N'resourcekey', N'document', N'documentcache', N'referenceedge', N'changeversionsequence')))) THEN 1 ELSE 0 END AS has_versions,
       CASE WHEN COL_LENGTH(N'dms.Document', N'ContentVersion') IS NULL OR COL_LENGTH(N'dms.Document', N'IdentityVersion') IS NULL THEN 0 ELSE 1 END AS has_stamps,
       CASE WHEN COL_LENGTH(N'dms.Document', N'ContentLastModifiedAt') IS NULL OR COL_LENGTH(N'dms.Document', N'IdentityLastModifiedAt') IS NULL THEN 0 ELSE 1 END AS has_times,
       CASE WHEN COL_LENGTH(N'dms.Document', N'ProjectName') IS NULL OR COL_LENGTH(N'dms.Document', N'ResourceName') IS NULL
                 OR COL_LENGTH(N'dms.Document', N'ResourceVersion') IS NULL THEN 0 ELSE 1 END AS has_names,
       CASE WHEN COL_LENGTH(N'dms.Document', N'KeyValues') IS NULL THEN 0 ELSE 1 END AS has_keys,
       CASE WHEN COL_LENGTH(N'dms.Document', N'ResourceKeyId') IS NULL THEN 0 ELSE 1 END AS has_resource_key_id;
