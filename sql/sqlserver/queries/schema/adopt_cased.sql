-- sql/sqlserver/queries/schema/adopt_cased.sql: document tables and columns whose names the database's collation tells from ours by their capitals alone,
-- such as dms.document. After adopt/model.sql, in the same transaction. Gives: severity (obstacle), subject, found, remedy; in most databases none.
SELECT CAST(N'obstacle' AS nvarchar(16)) AS severity, CAST(CONCAT(N'dms.', o.name) AS nvarchar(600)) AS subject,
       CAST(CONCAT(N'its name has other capitals, and the journal takes dms.', t.name) AS nvarchar(max)) AS found,
       CAST(CONCAT(N'EXEC sp_rename N''dms.', QUOTENAME(o.name), N''', N''', t.name, N''', N''OBJECT''; then a view of the old name, for programs that use it.') AS nvarchar(max)) AS remedy
FROM #fitted_table AS t INNER JOIN sys.tables AS o ON o.schema_id = SCHEMA_ID(N'dms') AND LOWER(o.name COLLATE Latin1_General_100_BIN2) = LOWER(t.name COLLATE Latin1_General_100_BIN2)
WHERE t.found_id IS NULL
UNION ALL
SELECT N'obstacle', CONCAT(N'dms.', t.name, N'.', found.name), CONCAT(N'its name has other capitals, and the journal takes ', model.name),
       CONCAT(N'EXEC sp_rename N''dms.', QUOTENAME(t.name), N'.', QUOTENAME(found.name), N''', N''', model.name, N''', N''COLUMN'';')
FROM #fitted_table AS t
INNER JOIN sys.columns AS model ON model.object_id = t.model_id
INNER JOIN sys.columns AS found ON found.object_id = t.found_id AND LOWER(found.name COLLATE Latin1_General_100_BIN2) = LOWER(model.name COLLATE Latin1_General_100_BIN2)
WHERE NOT EXISTS (SELECT * FROM sys.columns AS own WHERE own.object_id = t.found_id AND own.name = model.name)
ORDER BY subject;
