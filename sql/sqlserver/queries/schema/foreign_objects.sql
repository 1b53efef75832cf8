-- sql/sqlserver/queries/schema/foreign_objects.sql: what in schema dms the installing user must not take for its own (invariant 13). A mark is an
-- extended property, and any user can add one to an object of its own: the owner alone is proof, for a sysadmin too.
-- Binds: installer (a user's name; null: the current user). Gives: kind, subject, name, owner, found.
--   kind: owner (another user owns it), right (another user may change it, and so plant a trigger), kind (it is not what a migration makes under
--   this name), ddl (a trigger of the database that runs within the migration, with the rights of who installs).
--   subject: type and name, as --trust takes them. name: the bare name of an object of the schema, else the subject.
-- Reads the catalog alone: nothing of the schema runs, no row of it is read. What dbo owns is trusted: who owns the database needs no trick.
-- An object without an owner of its own is its schema's owner's: it is named with the schema.
SELECT CAST(N'owner' AS nvarchar(10)) AS kind, CAST(N'schema dms' AS nvarchar(600)) AS subject, CAST(N'schema dms' AS nvarchar(600)) AS name,
       CAST(COALESCE(USER_NAME(s.principal_id), N'an unknown user') AS nvarchar(256)) AS owner,
       CAST(LEFT(CONCAT(
           N'user ', COALESCE(CAST(:installer AS nvarchar(256)), USER_NAME()), N' does not own it, ', COALESCE(USER_NAME(s.principal_id), N'an unknown user'),
           N' does, and with it: ',
           COALESCE((SELECT STRING_AGG(CAST(o.name AS nvarchar(max)), N', ') FROM sys.objects AS o
                     WHERE o.schema_id = s.schema_id AND o.parent_object_id = 0 AND o.principal_id IS NULL), N'nothing yet')), 1500) AS nvarchar(1500)) AS found
FROM sys.schemas AS s
WHERE s.name = N'dms'
  AND s.principal_id NOT IN (COALESCE(DATABASE_PRINCIPAL_ID(CAST(:installer AS nvarchar(256))), DATABASE_PRINCIPAL_ID()), DATABASE_PRINCIPAL_ID(N'dbo'))
UNION ALL
SELECT N'owner', CONCAT(N'object dms.', o.name), o.name, COALESCE(USER_NAME(o.principal_id), N'an unknown user'),
       CONCAT(N'user ', COALESCE(CAST(:installer AS nvarchar(256)), USER_NAME()), N' does not own it, ',
              COALESCE(USER_NAME(o.principal_id), N'an unknown user'), N' does')
FROM sys.objects AS o
WHERE o.schema_id = SCHEMA_ID(N'dms') AND o.parent_object_id = 0
  AND o.principal_id NOT IN (COALESCE(DATABASE_PRINCIPAL_ID(CAST(:installer AS nvarchar(256))), DATABASE_PRINCIPAL_ID()), DATABASE_PRINCIPAL_ID(N'dbo'))
UNION ALL
SELECT N'owner', CONCAT(N'type dms.', y.name), y.name, COALESCE(USER_NAME(y.principal_id), N'an unknown user'),
       CONCAT(N'user ', COALESCE(CAST(:installer AS nvarchar(256)), USER_NAME()), N' does not own it, ',
              COALESCE(USER_NAME(y.principal_id), N'an unknown user'), N' does')
FROM sys.types AS y
WHERE y.schema_id = SCHEMA_ID(N'dms') AND y.is_user_defined = 1
  AND y.principal_id NOT IN (COALESCE(DATABASE_PRINCIPAL_ID(CAST(:installer AS nvarchar(256))), DATABASE_PRINCIPAL_ID()), DATABASE_PRINCIPAL_ID(N'dbo'))
UNION ALL
SELECT N'right', N'schema dms', N'schema dms', COALESCE(USER_NAME(p.grantee_principal_id), N'an unknown user'),
       CONCAT(N'user ', COALESCE(USER_NAME(p.grantee_principal_id), N'an unknown user'), N' may change what is in it (', p.permission_name, N')')
FROM sys.database_permissions AS p
INNER JOIN sys.schemas AS s ON s.schema_id = p.major_id AND s.name = N'dms'
WHERE p.class = 3 AND p.state IN ('G', 'W') AND p.permission_name IN (N'ALTER', N'CONTROL', N'TAKE OWNERSHIP')
  AND p.grantee_principal_id NOT IN (s.principal_id, COALESCE(DATABASE_PRINCIPAL_ID(CAST(:installer AS nvarchar(256))), DATABASE_PRINCIPAL_ID()),
                                     DATABASE_PRINCIPAL_ID(N'dbo'))
UNION ALL
SELECT N'right', CONCAT(N'object dms.', o.name), o.name, COALESCE(USER_NAME(p.grantee_principal_id), N'an unknown user'),
       CONCAT(N'user ', COALESCE(USER_NAME(p.grantee_principal_id), N'an unknown user'), N' may change it (', p.permission_name, N')')
FROM sys.database_permissions AS p
INNER JOIN sys.objects AS o ON o.object_id = p.major_id AND o.schema_id = SCHEMA_ID(N'dms')
WHERE p.class = 1 AND p.minor_id = 0 AND p.state IN ('G', 'W') AND p.permission_name IN (N'ALTER', N'CONTROL', N'TAKE OWNERSHIP')
  AND p.grantee_principal_id NOT IN (COALESCE(DATABASE_PRINCIPAL_ID(CAST(:installer AS nvarchar(256))), DATABASE_PRINCIPAL_ID()), DATABASE_PRINCIPAL_ID(N'dbo'))
UNION ALL
SELECT N'kind', CONCAT(N'object dms.', o.name), o.name, COALESCE(USER_NAME(o.principal_id), N'its schema''s'),
       CONCAT(N'a migration makes something else under this name, it is a ', LOWER(REPLACE(o.type_desc, N'_', N' ') COLLATE Latin1_General_100_BIN2))
FROM sys.objects AS o
INNER JOIN (VALUES
    (N'adoption', 'U'), (N'adoptionbefore', 'U'), (N'alembic_version', 'U'), (N'changeconsumer', 'U'), (N'changecontext', 'U'), (N'changecontextguard', 'U'),
    (N'changeversionsequence', 'SO'), (N'documentimageguard', 'U'), (N'truncateguard', 'U'),
    (N'document', 'U'), (N'documentcache', 'U'), (N'documentchangeevent', 'U'), (N'documentdeleteevent', 'U'), (N'documentimage', 'U'),
    (N'documentimagefloor', 'U'), (N'feeddatabase', 'U'), (N'feedgeneration', 'U'), (N'floorsecret', 'U'), (N'identitychangeevent', 'U'), (N'imageexclusion', 'U'), (N'journalfloor', 'U'),
    (N'journalpartition', 'V'), (N'keychangeevent', 'U'), (N'lease', 'U'), (N'partitionsettings', 'U'), (N'maxdepidentitypending', 'U'), (N'referenceedge', 'U'), (N'resourcechange', 'V'),
    (N'resourcedependency', 'U'), (N'resourcekey', 'U'), (N'trackedlate', 'U'), (N'trackedtable', 'U')) AS expected (name, kind) ON expected.name = LOWER(o.name COLLATE Latin1_General_100_BIN2)
WHERE o.schema_id = SCHEMA_ID(N'dms') AND o.parent_object_id = 0 AND RTRIM(o.type) <> expected.kind
UNION ALL
SELECT N'ddl', CONCAT(N'database trigger ', t.name), CONCAT(N'database trigger ', t.name), N'the database',
       N'it runs within the migration, with the rights of who installs'
FROM sys.triggers AS t
WHERE t.parent_class = 0 AND t.is_disabled = 0 AND t.is_ms_shipped = 0
ORDER BY kind, subject, found
