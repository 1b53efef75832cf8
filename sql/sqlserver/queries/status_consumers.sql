-- sql/sqlserver/queries/status_consumers.sql: how far each registered consumer has read, by name.
SELECT Name AS name, ChangeVersion AS change_version, UpdatedAt AS updated_at FROM dms.ChangeConsumer ORDER BY Name;
