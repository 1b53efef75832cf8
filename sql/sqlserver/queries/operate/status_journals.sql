-- sql/sqlserver/queries/operate/status_journals.sql: each journal's size, and how far it has been pruned. No journal is read.
-- Gives: journal; row_estimate; bytes, with indexes and partitions; floor; pruned_at.
SELECT floors.Journal AS journal, floors.ChangeVersion AS floor, floors.PrunedAt AS pruned_at, counted.row_estimate, sized.bytes
FROM dms.JournalFloor AS floors
CROSS APPLY (
    SELECT SUM(rows) AS row_estimate
    FROM sys.partitions
    WHERE object_id = OBJECT_ID(N'dms.' + floors.Journal) AND index_id IN (0, 1)) AS counted
CROSS APPLY (
    SELECT SUM(unit.total_pages) * 8192 AS bytes
    FROM sys.partitions AS part
    INNER JOIN sys.allocation_units AS unit
        ON unit.container_id = CASE WHEN unit.type = 2 THEN part.partition_id ELSE part.hobt_id END  -- 2: large values
    WHERE part.object_id = OBJECT_ID(N'dms.' + floors.Journal)) AS sized
ORDER BY floors.Journal;
