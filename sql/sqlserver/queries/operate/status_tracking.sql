-- sql/sqlserver/queries/operate/status_tracking.sql: the tracked tables, and what is not as it should be with each (functions/check_tracking.v1.sql). Ask
-- status_tracking_seen.sql first.
-- Gives: table_name; problems (JSON array of texts, empty where all is well); is_whole (false where a trigger, procedure, view or the table itself is missing).
SET NOCOUNT ON;
SELECT t.TableName AS table_name, COALESCE(told.problems, N'[]') AS problems, COALESCE(told.is_whole, 1) AS is_whole
FROM dms.TrackedTable AS t
LEFT JOIN (
    SELECT c.table_name, CONCAT(N'[', STRING_AGG(CAST(CONCAT(N'"', STRING_ESCAPE(c.name, N'json'), N'"') AS nvarchar(max)), N',') WITHIN GROUP (ORDER BY c.name), N']') AS problems,
           MIN(CASE WHEN c.code IN (N'tracking-altered', N'tracked-table-gone') THEN 0 ELSE 1 END) AS is_whole
    FROM dms.check_tracking() AS c GROUP BY c.table_name) AS told ON told.table_name = t.TableName
ORDER BY t.TableName;
