-- sql/postgres/queries/operate/verify_tracking.sql: tracked tables whose objects, columns or fill are not as they should be (functions/check_tracking.v1.sql).
-- Gives: code (a finding's), table_name, name.
SELECT c.code, c.table_name, c.name FROM dms.check_tracking() AS c ORDER BY c.table_name, c.code, c.name
