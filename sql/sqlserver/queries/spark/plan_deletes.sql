-- sql/sqlserver/queries/spark/plan_deletes.sql: the ends of equal parts of a window's tombstones, by ChangeVersion.
-- Binds: resource_key_ids (JSON array, each once); min_version, max_version (inclusive); rows_per_part (1 or more, about); most_parts (1 or more).
-- Gives: one row a part, in order: the ChangeVersion of its last row as `last`, and its rows. None where there are no rows.
-- Plan: a range of IX_DocumentDeleteEvent_Resource for each resource; what it reads are index entries, as many as the rows that will be read.
SET NOCOUNT ON;
DECLARE @resource_key_ids nvarchar(max) = :resource_key_ids, @min_version bigint = :min_version, @max_version bigint = :max_version,
        @rows_per_part bigint = :rows_per_part,
        @most_parts bigint = :most_parts;
DECLARE @wanted TABLE (ResourceKeyId smallint NOT NULL PRIMARY KEY);
INSERT INTO @wanted (ResourceKeyId) SELECT DISTINCT CAST(value AS smallint) FROM OPENJSON(@resource_key_ids);
DECLARE @rows bigint = 0, @parts bigint = 1;
SELECT @rows = COUNT_BIG(*) FROM dms.DocumentDeleteEvent WHERE ResourceKeyId IN (SELECT ResourceKeyId FROM @wanted) AND ChangeVersion BETWEEN @min_version AND @max_version;
SELECT @parts = CASE WHEN @rows / @rows_per_part < 1 THEN 1 WHEN @rows / @rows_per_part < @most_parts THEN @rows / @rows_per_part ELSE @most_parts END;
SELECT ended.position AS last, ended.number - COALESCE(LAG(ended.number) OVER (ORDER BY ended.number), 0) AS rows
FROM (
    SELECT numbered.position, numbered.number
    FROM (
        SELECT ChangeVersion AS position, ROW_NUMBER() OVER (ORDER BY ChangeVersion) AS number FROM dms.DocumentDeleteEvent
        WHERE ResourceKeyId IN (SELECT ResourceKeyId FROM @wanted) AND ChangeVersion BETWEEN @min_version AND @max_version
    ) AS numbered
    WHERE numbered.number * @parts / @rows > (numbered.number - 1) * @parts / @rows  -- a part's last row
) AS ended
ORDER BY ended.number;
