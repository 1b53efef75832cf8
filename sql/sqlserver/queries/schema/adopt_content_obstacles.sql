-- sql/sqlserver/queries/schema/adopt_content_obstacles.sql: columns that cannot be content (--content-column). A trigger cannot read text, ntext and image, nor
-- ask whether a computed column is written.
-- It is asked in each run: a later one may name
-- others. Binds: content_columns (JSON array). Gives: subject, found, remedy. After adopt/model.sql, in the same transaction.
SET NOCOUNT ON;
DECLARE @content nvarchar(max) = :content_columns;
SELECT CONCAT(N'dms.Document.', value) AS subject, N'there is no such column for --content-column, or the journal looks at it anyway' AS found,
       N'Name a column of your own.' AS remedy
FROM OPENJSON(@content)
WHERE LOWER(value COLLATE Latin1_General_100_BIN2) NOT IN (
    SELECT LOWER(c.name COLLATE Latin1_General_100_BIN2) FROM #fitted_table AS t INNER JOIN #stated_column AS c ON c.object_id = t.found_id
    WHERE LOWER(t.name COLLATE Latin1_General_100_BIN2) = N'document' AND NOT EXISTS (SELECT * FROM #stated_column AS m WHERE m.object_id = t.model_id AND m.name = c.name))
UNION ALL
SELECT CONCAT(N'dms.Document.', c.name), CONCAT(N'a trigger cannot see a change of it: it is ', CASE WHEN c.is_computed = 1 THEN N'computed' ELSE c.type END),
       CASE WHEN c.is_computed = 1 THEN N'Name the columns that it is computed from.' ELSE N'ALTER TABLE dms.Document ALTER COLUMN to nvarchar(max) or varbinary(max), or leave it out.' END
FROM #fitted_table AS t INNER JOIN #stated_column AS c ON c.object_id = t.found_id
WHERE LOWER(t.name COLLATE Latin1_General_100_BIN2) = N'document' AND (c.is_computed = 1 OR c.type IN (N'text', N'ntext', N'image') OR c.type LIKE N'text COLLATE %' OR c.type LIKE N'ntext COLLATE %')
  AND LOWER(c.name COLLATE Latin1_General_100_BIN2) IN (SELECT LOWER(value COLLATE Latin1_General_100_BIN2) FROM OPENJSON(@content));
