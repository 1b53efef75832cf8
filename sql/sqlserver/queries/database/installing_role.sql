-- sql/sqlserver/queries/database/installing_role.sql: the user that installed the journal: the owner of the revisions, or of the documents. Gives: name; null
-- where there is neither. Reads the catalog alone.
SELECT (SELECT TOP (1) USER_NAME(COALESCE(o.principal_id, s.principal_id))
        FROM sys.objects AS o INNER JOIN sys.schemas AS s ON s.schema_id = o.schema_id
        WHERE s.name = N'dms' AND LOWER(o.name COLLATE Latin1_General_100_BIN2) IN (N'alembic_version', N'document') ORDER BY LOWER(o.name COLLATE Latin1_General_100_BIN2)) AS name
