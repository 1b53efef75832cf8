-- sql/sqlserver/functions/untrackable.v1.sql: why a table cannot be tracked, and what to do; no row where it can. Of a table that is tracked, what is shown and kept counts.
-- Its owner has to be that of schema dms: then a writer of the table needs no right on dms (ownership chaining), and our triggers run only our own code.
-- A name with two dollar signs could be taken for one of the marks in tracking_text.v1.sql.
CREATE FUNCTION dms.untrackable (@relation int, @key_name nvarchar(128))
RETURNS @found TABLE (reason nvarchar(1000) NOT NULL, remedy nvarchar(1000) NOT NULL)
AS
BEGIN
    DECLARE @name nvarchar(600) = dms.tracked_name(@relation), @index int;
    DECLARE @said TABLE (place int NOT NULL, reason nvarchar(1000) NOT NULL, remedy nvarchar(1000) NOT NULL);
    INSERT INTO @said (place, reason, remedy)
    SELECT 1, N'it is a view', N'Track the tables that it reads.' FROM sys.objects AS o WHERE o.object_id = @relation AND o.type = 'V'
    UNION ALL
    SELECT 2, N'it is no table', N'Name a table.' FROM sys.objects AS o WHERE o.object_id = @relation AND o.type NOT IN ('U', 'V')
    UNION ALL
    SELECT told.place, told.reason, told.remedy
    FROM sys.tables AS t INNER JOIN sys.schemas AS s ON s.schema_id = t.schema_id
    CROSS APPLY (VALUES
        (3, CASE WHEN t.is_external = 1 THEN 1 ELSE 0 END, N'it is an external table: nothing here sees its rows change', N'Track it in the database that has it.'),
        (4, CASE WHEN t.is_memory_optimized = 1 THEN 1 ELSE 0 END, N'it is memory-optimized: its triggers can call nothing of schema dms',
            N'Keep what has to be journaled in a table on disk.'),
        (5, CASE WHEN t.temporal_type = 1 THEN 1 ELSE 0 END, N'it is the history of a temporal table, which the server writes without triggers', N'Track the temporal table.'),
        (6, CASE WHEN t.is_node = 1 OR t.is_edge = 1 THEN 1 ELSE 0 END, N'it is a table of a graph', N'Track tables without AS NODE or AS EDGE.'),
        (7, CASE WHEN t.is_filetable = 1 THEN 1 ELSE 0 END, N'it is a FileTable: files change past its triggers', N'Track a table of your own.'),
        (8, CASE WHEN s.name IN (N'dms', N'sys') THEN 1 ELSE 0 END, CONCAT(N'it belongs to schema ', s.name), N'Track a table of your own.')
    ) AS told (place, is_so, reason, remedy)
    WHERE t.object_id = @relation AND told.is_so = 1;
    INSERT INTO @said (place, reason, remedy)
    SELECT 9, CONCAT(N'its owner is user ', USER_NAME(told.owner), N', and that of schema dms is user ', USER_NAME(told.installer), N': who writes it would need rights on the journal'),
           CONCAT(N'ALTER AUTHORIZATION ON OBJECT::', @name, N' TO ', QUOTENAME(USER_NAME(told.installer)), N', or install dmsjournal as its owner.')
    FROM sys.tables AS t
    INNER JOIN sys.schemas AS s ON s.schema_id = t.schema_id
    CROSS APPLY (SELECT COALESCE(t.principal_id, s.principal_id) AS owner, (SELECT d.principal_id FROM sys.schemas AS d WHERE d.schema_id = SCHEMA_ID(N'dms')) AS installer) AS told
    WHERE t.object_id = @relation AND told.owner <> told.installer;
    INSERT INTO @said (place, reason, remedy)
    SELECT TOP (1) 10, CONCAT(N'the name ', QUOTENAME(named.name), N' has two dollar signs or a control character, as marks of dmsjournal have'), N'Rename it.'
    FROM (
        SELECT c.name FROM sys.columns AS c WHERE c.object_id = @relation
        UNION ALL
        SELECT o.name FROM sys.objects AS o WHERE o.object_id = @relation
        UNION ALL
        SELECT OBJECT_SCHEMA_NAME(@relation)) AS named
    WHERE named.name LIKE N'%$%$%' OR CHARINDEX(NCHAR(30), named.name) > 0 ORDER BY named.name;
    SELECT @index = MIN(i.index_id) FROM sys.indexes AS i
    WHERE i.object_id = @relation AND i.is_unique = 1 AND i.has_filter = 0 AND ((@key_name IS NULL AND i.is_primary_key = 1) OR i.name = @key_name COLLATE DATABASE_DEFAULT);
    IF @index IS NULL
        INSERT INTO @said (place, reason, remedy)
        SELECT 11, CASE WHEN @key_name IS NULL THEN N'it has no primary key' ELSE CONCAT(N'it has no primary or unique key of the name ', QUOTENAME(@key_name)) END,
               COALESCE(N'Name one of its unique keys: ' + (SELECT STRING_AGG(CAST(i.name AS nvarchar(max)), N', ') WITHIN GROUP (ORDER BY i.index_id) FROM sys.indexes AS i
                                                           WHERE i.object_id = @relation AND i.is_unique = 1 AND i.has_filter = 0) + N'.', N'Add a primary key.');
    INSERT INTO @said (place, reason, remedy)
    SELECT 12, CONCAT(N'column ', c.name, N' of its key may be null'), CONCAT(N'ALTER TABLE ', @name, N' ALTER COLUMN ', c.quoted, N' ', c.declared, N' NOT NULL.')
    FROM sys.index_columns AS ic INNER JOIN dms.tracked_columns(@relation) AS c ON c.column_id = ic.column_id
    WHERE ic.object_id = @relation AND ic.index_id = @index AND ic.key_ordinal > 0 AND c.is_nullable = 1;
    INSERT INTO @said (place, reason, remedy)
    SELECT 13, CONCAT(N'column ', c.name, N' of its key is of type ', c.type, N', which JSON cannot hold exactly'), N'Name a unique key of other columns.'
    FROM sys.index_columns AS ic INNER JOIN dms.tracked_columns(@relation) AS c ON c.column_id = ic.column_id
    WHERE ic.object_id = @relation AND ic.index_id = @index AND ic.key_ordinal > 0 AND c.is_exact = 0;
    INSERT INTO @said (place, reason, remedy)
    SELECT 16, CONCAT(N'column ', c.name, N' of its key is encrypted: the server cannot read it'), N'Name a unique key of other columns.'
    FROM sys.index_columns AS ic INNER JOIN dms.tracked_columns(@relation) AS c ON c.column_id = ic.column_id
    WHERE ic.object_id = @relation AND ic.index_id = @index AND ic.key_ordinal > 0 AND c.is_encrypted = 1;
    INSERT INTO @said (place, reason, remedy)
    SELECT TOP (1) 17, CONCAT(N'column ', c.name, N' is masked: of a writer without the right UNMASK, its mask would be journaled'),
           CONCAT(N'ALTER TABLE ', @name, N' ALTER COLUMN ', c.quoted, N' DROP MASKED, or leave it out of the key, of what is shown and of bodies.')
    FROM dms.tracked_columns(@relation) AS c
    WHERE c.is_masked = 1 AND (
        EXISTS (SELECT * FROM sys.index_columns AS ic WHERE ic.object_id = @relation AND ic.index_id = @index AND ic.key_ordinal > 0 AND ic.column_id = c.column_id)
        OR EXISTS (SELECT * FROM dms.TrackedTable AS t WHERE t.RelationId = @relation AND (t.KeepsBodies = 1 OR c.name IN (SELECT s.value COLLATE DATABASE_DEFAULT FROM OPENJSON(t.ShownColumns) AS s))))
    ORDER BY c.column_id;
    INSERT INTO @said (place, reason, remedy)
    SELECT TOP (1) 18, CONCAT(N'index ', i.name, N' is a clustered columnstore: the server takes no trigger on such a table (35358)'), N'Track a table whose rows are in a heap or in a clustered B-tree.'
    FROM sys.indexes AS i WHERE i.object_id = @relation AND i.type = 5;
    INSERT INTO @said (place, reason, remedy)
    SELECT 19, CONCAT(N'index ', i.name, N' is disabled, so its values need not be unique'), CONCAT(N'ALTER INDEX ', QUOTENAME(i.name), N' ON ', @name, N' REBUILD.')
    FROM sys.indexes AS i WHERE i.object_id = @relation AND i.index_id = @index AND (i.is_disabled = 1 OR i.is_hypothetical = 1);
    INSERT INTO @said (place, reason, remedy)
    SELECT 20, CONCAT(N'it has ', told.columns, N' columns, and the view that is made of it adds two: a view has 1,024 at most'), N'Move columns to a table of their own.'
    FROM (SELECT COUNT(*) AS columns FROM sys.columns AS c WHERE c.object_id = @relation) AS told WHERE told.columns > 1022;
    IF OBJECT_ID(N'sys.security_predicates') IS NOT NULL  -- a compatible server may have no row level security
        INSERT INTO @said (place, reason, remedy)
        SELECT TOP (1) 14, CONCAT(N'security policy ', y.name, N' hides rows from its writers, whose rights our triggers have'), N'Switch the policy off, or track a table without one.'
        FROM sys.security_predicates AS p INNER JOIN sys.security_policies AS y ON y.object_id = p.object_id
        WHERE p.target_object_id = @relation AND y.is_enabled = 1 ORDER BY y.name;
    INSERT INTO @said (place, reason, remedy)
    SELECT 15, N'the server option "nested triggers" is off: a trigger of ours would fire no other one', N'sp_configure ''nested triggers'', 1.'
    FROM sys.configurations AS f WHERE f.name = N'nested triggers' AND CAST(f.value_in_use AS int) = 0;
    INSERT INTO @found (reason, remedy) SELECT TOP (1) s.reason, s.remedy FROM @said AS s ORDER BY s.place;
    RETURN;
END;
-- drop: DROP FUNCTION dms.untrackable;
