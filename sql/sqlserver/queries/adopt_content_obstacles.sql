-- sql/sqlserver/queries/adopt_content_obstacles.sql: columns that cannot be content (--content-column). It is asked in each run: a later one may name
-- others. Binds: content_columns (JSON array). Gives: subject, found, remedy. After adopting/model.sql, in the same transaction.
SET NOCOUNT ON;
DECLARE @content nvarchar(max) = :content_columns;
SELECT CONCAT(N'dms.Document.', value) AS subject, N'there is no such column for --content-column, or the journal looks at it anyway' AS found,
       N'Name a column of your own.' AS remedy
FROM OPENJSON(@content)
WHERE LOWER(value) NOT IN (
    SELECT LOWER(c.name) FROM #fitted_table AS t INNER JOIN #stated_column AS c ON c.object_id = t.found_id
    WHERE LOWER(t.name) = N'document' AND NOT EXISTS (SELECT * FROM #stated_column AS m WHERE m.object_id = t.model_id AND m.name = c.name));
