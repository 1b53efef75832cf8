-- sql/sqlserver/queries/operate/track.sql: tracks a table (procedures/track.v1.sql). Binds: table_name, project, resource, version, key (texts; null where not given);
-- shows, columns (JSON arrays of names; null where not given); bodies, trust (truth values). Gives: tracked_table_id.
SET NOCOUNT ON;
DECLARE @table_name nvarchar(600) = :table_name, @project nvarchar(256) = :project, @resource nvarchar(256) = :resource, @version nvarchar(64) = :version,
        @shows nvarchar(max) = :shows, @columns nvarchar(max) = :columns, @key nvarchar(128) = :key, @bodies bit = :bodies, @trust bit = :trust, @tracked_id smallint;
EXEC dms.track @table_name, @project, @resource, @version, @shows, @columns, @key, @bodies, @trust, @tracked_id OUTPUT;
SELECT @tracked_id AS tracked_table_id;
