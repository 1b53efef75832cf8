-- sql/postgres/queries/operate/status_tracking.sql: the tracked tables, and what is not as it should be with each (functions/check_tracking.v1.sql). The
-- role needs EXECUTE on that function: ask status_tracking_seen.sql first.
-- Gives: table_name; problems (array of texts, empty where all is well); is_whole (false where a trigger, function, view or the table itself is
-- missing, and where writes of the table fail).
SELECT t.TableName AS table_name, coalesce(array_agg(c.name ORDER BY c.name) FILTER (WHERE c.name IS NOT NULL), '{}') AS problems,
       NOT coalesce(bool_or(c.code IN ('tracking-altered', 'tracking-failing', 'tracked-table-gone')), false) AS is_whole
FROM dms.TrackedTable AS t LEFT JOIN dms.check_tracking() AS c ON c.table_name = t.TableName
GROUP BY t.TableName ORDER BY t.TableName
