-- sql/sqlserver/queries/operate/tracked_tables.sql: the tracked tables (functions/tracked_tables.v1.sql), in the order of their names. A user that does not see how
-- tables are defined would see them as gone.
SET NOCOUNT ON;
IF COALESCE(HAS_PERMS_BY_NAME(QUOTENAME(DB_NAME()), N'DATABASE', N'VIEW DEFINITION'), 0) = 0
    THROW 50006, N'the user may not see how tables are defined, so it cannot tell what is wrong with a tracked one. GRANT VIEW DEFINITION TO the user, in this database.', 1;
SELECT t.table_name, t.project_name, t.resource_name, t.resource_version, t.key_columns, t.shown_columns, t.watched_columns, t.keeps_bodies, t.refers_to,
       t.estimated_rows, t.is_filled, t.state
FROM dms.tracked_tables() AS t ORDER BY t.table_name;
