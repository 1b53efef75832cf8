-- sql/sqlserver/queries/operate/prune_estimate.sql: how many rows of each journal are at or below a version, and about how many bytes they and
-- their index entries take: their share of the table, by its row count.
-- Binds: through (inclusive). Gives: journal, rows, bytes. Plan: ranges of the primary keys.
SET NOCOUNT ON;
DECLARE @through bigint = :through;
SELECT counted.journal, counted.rows,
       CAST(size.bytes * 1.0 * counted.rows
            / CASE WHEN size.rows > counted.rows THEN size.rows WHEN counted.rows > 0 THEN counted.rows ELSE 1 END AS bigint) AS bytes
FROM (
    SELECT N'DocumentChangeEvent' AS journal, COUNT_BIG(*) AS rows FROM dms.DocumentChangeEvent WHERE ChangeVersion <= @through
    UNION ALL SELECT N'IdentityChangeEvent' AS journal, COUNT_BIG(*) AS rows FROM dms.IdentityChangeEvent WHERE ChangeVersion <= @through
    UNION ALL SELECT N'KeyChangeEvent' AS journal, COUNT_BIG(*) AS rows FROM dms.KeyChangeEvent WHERE ChangeVersion <= @through
    UNION ALL SELECT N'DocumentDeleteEvent' AS journal, COUNT_BIG(*) AS rows FROM dms.DocumentDeleteEvent WHERE ChangeVersion <= @through
) AS counted
CROSS APPLY (
    SELECT SUM(unit.total_pages) * CAST(8192 AS bigint) AS bytes,
           SUM(CASE WHEN part.index_id <= 1 AND unit.type = 1 THEN part.rows ELSE 0 END) AS rows
    FROM sys.partitions AS part INNER JOIN sys.allocation_units AS unit ON unit.container_id = part.partition_id
    WHERE part.object_id = OBJECT_ID(N'dms.' + counted.journal)
) AS size;
