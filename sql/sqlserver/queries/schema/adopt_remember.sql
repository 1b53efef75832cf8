-- sql/sqlserver/queries/schema/adopt_remember.sql: keeps what adopt_before.sql has given. A later run adds only what is replaced: what the tables lack
-- by then is what the adoption has not come to. Binds: rows (JSON array of objects with kind, table_name, name).
SET NOCOUNT ON;
DECLARE @rows nvarchar(max) = :rows, @is_first bit = 1;
IF EXISTS (SELECT * FROM dms.AdoptionBefore)
    SET @is_first = 0;
INSERT INTO dms.AdoptionBefore (Kind, TableName, Name)
SELECT new.kind, new.table_name, new.name
FROM OPENJSON(@rows) WITH (kind nvarchar(16), table_name nvarchar(128), name nvarchar(160)) AS new
WHERE (@is_first = 1 OR new.kind IN (N'journal', N'trigger'))
  AND NOT EXISTS (SELECT * FROM dms.AdoptionBefore AS b WHERE b.Kind = new.kind AND b.TableName = new.table_name AND b.Name = new.name);
