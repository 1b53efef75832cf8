-- sql/sqlserver/queries/read/plan_documents.sql: the ends of equal parts of resources' live documents in a range of ids, by DocumentId.
-- Binds: resource_key_ids (JSON array, each once); from_id, through_id (inclusive); rows_per_part (1 or more, about); most_parts (1 or more).
-- Gives: one row a part, in order: the DocumentId of its last row as `last`, and its rows. None where there are no rows.
-- Plan: IX_Document_ResourceKeyId; what it reads are index entries, as many as the rows that will be read.
SET NOCOUNT ON;
DECLARE @resource_key_ids nvarchar(max) = :resource_key_ids, @rows_per_part bigint = :rows_per_part,
        @most_parts bigint = :most_parts, @from_id bigint = :from_id, @through_id bigint = :through_id;
DECLARE @wanted TABLE (ResourceKeyId smallint NOT NULL PRIMARY KEY);
INSERT INTO @wanted (ResourceKeyId) SELECT DISTINCT CAST(value AS smallint) FROM OPENJSON(@resource_key_ids);
DECLARE @rows bigint = 0, @parts bigint = 1;
SELECT @rows = COUNT_BIG(*) FROM dms.Document
WHERE ResourceKeyId IN (SELECT ResourceKeyId FROM @wanted) AND DocumentId BETWEEN @from_id AND @through_id;
SELECT @parts = CASE WHEN @rows / @rows_per_part < 1 THEN 1 WHEN @rows / @rows_per_part < @most_parts THEN @rows / @rows_per_part ELSE @most_parts END;
SELECT ended.position AS last, ended.number - COALESCE(LAG(ended.number) OVER (ORDER BY ended.number), 0) AS rows
FROM (
    SELECT numbered.position, numbered.number
    FROM (
        SELECT DocumentId AS position, ROW_NUMBER() OVER (ORDER BY DocumentId) AS number FROM dms.Document
        WHERE ResourceKeyId IN (SELECT ResourceKeyId FROM @wanted) AND DocumentId BETWEEN @from_id AND @through_id
    ) AS numbered
    WHERE numbered.number * @parts / @rows > (numbered.number - 1) * @parts / @rows  -- a part's last row
) AS ended
ORDER BY ended.number;
