-- sql/sqlserver/queries/operate/status_hidden.sql: what the user may not see of what the other status queries look at, and what would show it.
-- Gives: part: last_stamp, holders (status_holders.sql is refused) or triggers; what; remedy.
-- A permission that the server does not know is null: VIEW SERVER PERFORMANCE STATE before 2022. In Azure SQL Database (edition 5) the
-- database's own right is the one.
SELECT looked.part, looked.what, looked.remedy
FROM (VALUES
    (1, HAS_PERMS_BY_NAME(N'dms.newest_stamp', N'OBJECT', N'EXECUTE'),
     N'last_stamp', N'the last stamp', N'GRANT EXECUTE ON dms.newest_stamp'),
    (2, CASE WHEN HAS_PERMS_BY_NAME(NULL, NULL, N'VIEW SERVER STATE') = 1
               OR HAS_PERMS_BY_NAME(NULL, NULL, N'VIEW SERVER PERFORMANCE STATE') = 1
               OR (CAST(SERVERPROPERTY(N'EngineEdition') AS int) = 5 AND HAS_PERMS_BY_NAME(QUOTENAME(DB_NAME()), N'DATABASE', N'VIEW DATABASE STATE') = 1)
             THEN HAS_PERMS_BY_NAME(N'dms.oldest_floor', N'OBJECT', N'EXECUTE') ELSE 0 END,
     N'holders', N'who holds the horizon',
     N'GRANT EXECUTE ON dms.oldest_floor, GRANT VIEW SERVER STATE (VIEW SERVER PERFORMANCE STATE from SQL Server 2022 on, VIEW DATABASE STATE in Azure SQL Database)'),
    (3, CASE WHEN (SELECT COUNT(*) FROM sys.triggers WHERE parent_id IN (OBJECT_ID(N'dms.Document'), OBJECT_ID(N'dms.ReferenceEdge'))) > 0
               OR HAS_PERMS_BY_NAME(N'dms.Document', N'OBJECT', N'VIEW DEFINITION') = 1
             THEN 1 ELSE 0 END,
     N'triggers', N'whether the triggers are there', N'GRANT VIEW DEFINITION ON SCHEMA::dms')
) AS looked (ordinal, is_seen, part, what, remedy)
WHERE looked.is_seen IS NULL OR looked.is_seen = 0
ORDER BY looked.ordinal;
