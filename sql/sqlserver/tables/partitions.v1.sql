-- sql/sqlserver/tables/partitions.v1.sql: option partitions: the journals on one partition scheme, cut at multiples of 10,000,000 versions (more where
-- that would be over 1,000 parts) from their first event to three parts above the last stamp. RANGE RIGHT: a bound is the first version of
-- a part. dms.ensure_partitions adds bounds later.
DECLARE @newest bigint, @first bigint, @versions bigint = 10000000, @bound decimal(38, 0), @bounds nvarchar(max) = N'', @statement nvarchar(max);
EXEC dms.newest_stamp @newest OUTPUT;
SELECT @first = COALESCE(MIN(journal.ChangeVersion), @newest)
FROM (SELECT MIN(ChangeVersion) AS ChangeVersion FROM dms.DocumentChangeEvent UNION ALL SELECT MIN(ChangeVersion) FROM dms.IdentityChangeEvent
      UNION ALL SELECT MIN(ChangeVersion) FROM dms.KeyChangeEvent UNION ALL SELECT MIN(ChangeVersion) FROM dms.DocumentDeleteEvent) AS journal;
WHILE (@newest - @first) / @versions > 1000
    SET @versions = @versions * 10;
SET @bound = (@first / @versions + 1) * CAST(@versions AS decimal(38, 0));
WHILE @bound <= @newest + 3 * CAST(@versions AS decimal(38, 0)) AND @bound < CAST(9223372036854775807 AS bigint)
BEGIN
    SET @bounds = CONCAT(@bounds, CASE WHEN @bounds <> N'' THEN N', ' END, @bound);
    SET @bound = @bound + @versions;
END;
SET @statement = CONCAT(N'CREATE PARTITION FUNCTION dmsjournal_versions (bigint) AS RANGE RIGHT FOR VALUES (', @bounds, N');');
EXEC sys.sp_executesql @statement;
CREATE PARTITION SCHEME dmsjournal_versions AS PARTITION dmsjournal_versions ALL TO ([PRIMARY]);
EXEC dms.rebuild_journals N'dmsjournal_versions (ChangeVersion)';
-- drop: -- option partitions goes: the journals are written anew, each in one piece.
-- drop: EXEC dms.rebuild_journals N'[default]';
-- drop: DROP PARTITION SCHEME dmsjournal_versions;
-- drop: DROP PARTITION FUNCTION dmsjournal_versions;
