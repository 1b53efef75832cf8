-- sql/sqlserver/procedures/rebuild_journals.v1.sql: option partitions: makes every index of the journals anew, its primary key's rows with it, in another
-- place: a partition scheme and its column, or a filegroup. Names, keys and what refers to them stay. Online where the edition can (Enterprise,
-- Developer, Azure SQL); else the journal is locked while it is written.
CREATE PROCEDURE dms.rebuild_journals @place nvarchar(256)
AS
BEGIN
    SET NOCOUNT ON;
    SET ROWCOUNT 0;  -- the caller's; it is the caller's again on return
    DECLARE @online nvarchar(16) = CASE WHEN CAST(SERVERPROPERTY(N'EngineEdition') AS int) IN (3, 5, 8) THEN N'ON' ELSE N'OFF' END;
    DECLARE @statement nvarchar(max);
    DECLARE statements CURSOR LOCAL STATIC FOR
    SELECT CONCAT(N'CREATE ', CASE WHEN i.is_unique = 1 THEN N'UNIQUE ' END, CASE WHEN i.type = 1 THEN N'CLUSTERED' ELSE N'NONCLUSTERED' END,
                  N' INDEX ', QUOTENAME(i.name), N' ON dms.', QUOTENAME(t.name), N' (', keyed.columns,
                  N') WITH (DROP_EXISTING = ON, ONLINE = ', @online, N') ON ', @place, N';')
    FROM sys.tables AS t
    INNER JOIN sys.indexes AS i ON i.object_id = t.object_id
    CROSS APPLY (
        SELECT STRING_AGG(CAST(QUOTENAME(c.name) AS nvarchar(max)), N', ') WITHIN GROUP (ORDER BY k.key_ordinal) AS columns
        FROM sys.index_columns AS k
        INNER JOIN sys.columns AS c ON c.object_id = k.object_id AND c.column_id = k.column_id
        WHERE k.object_id = i.object_id AND k.index_id = i.index_id AND k.key_ordinal > 0) AS keyed
    WHERE t.schema_id = SCHEMA_ID(N'dms') AND i.type IN (1, 2)
      AND t.name IN (N'DocumentChangeEvent', N'IdentityChangeEvent', N'KeyChangeEvent', N'DocumentDeleteEvent')
    ORDER BY t.name, i.index_id;
    OPEN statements;
    FETCH NEXT FROM statements INTO @statement;
    WHILE @@FETCH_STATUS = 0
    BEGIN
        EXEC sys.sp_executesql @statement;
        FETCH NEXT FROM statements INTO @statement;
    END;
    CLOSE statements;
    DEALLOCATE statements;
END;
-- drop: DROP PROCEDURE dms.rebuild_journals;
