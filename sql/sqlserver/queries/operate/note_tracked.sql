-- sql/sqlserver/queries/operate/note_tracked.sql: checks what track.sql would be given, and writes it down for a plan, which is rolled back; no lock on the
-- table is taken. Binds: as track.sql. Gives: relation_id.
SET NOCOUNT ON;
DECLARE @table_name nvarchar(600) = :table_name, @project nvarchar(256) = :project, @resource nvarchar(256) = :resource, @version nvarchar(64) = :version,
        @shows nvarchar(max) = :shows, @columns nvarchar(max) = :columns, @key nvarchar(128) = :key, @bodies bit = :bodies, @trust bit = :trust, @relation int;
IF @trust IS NOT NULL
    EXEC dms.note_tracked @table_name, @project, @resource, @version, @shows, @columns, @key, @bodies, @relation OUTPUT;
SELECT @relation AS relation_id;
