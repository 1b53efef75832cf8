-- sql/sqlserver/queries/operate/prune_estimate_images.sql: as prune_estimate.sql, of the images of option images.
-- Binds: through (inclusive). Gives: journal, rows, bytes. Plan: a range of the primary key.
SET NOCOUNT ON;
DECLARE @through bigint = :through;
SELECT N'DocumentImage' AS journal, counted.rows,
       CAST(size.bytes * 1.0 * counted.rows
            / CASE WHEN size.rows > counted.rows THEN size.rows WHEN counted.rows > 0 THEN counted.rows ELSE 1 END AS bigint) AS bytes
FROM (SELECT COUNT_BIG(*) AS rows FROM dms.DocumentImage WHERE ChangeVersion <= @through) AS counted
CROSS JOIN (
    SELECT SUM(unit.total_pages) * CAST(8192 AS bigint) AS bytes,
           SUM(CASE WHEN part.index_id <= 1 AND unit.type = 1 THEN part.rows ELSE 0 END) AS rows
    FROM sys.partitions AS part INNER JOIN sys.allocation_units AS unit ON unit.container_id = part.partition_id
    WHERE part.object_id = OBJECT_ID(N'dms.DocumentImage')
) AS size;
