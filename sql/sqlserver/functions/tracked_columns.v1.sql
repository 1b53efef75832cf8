-- sql/sqlserver/functions/tracked_columns.v1.sql: the columns of a table: number, name, quoted; type: the server's own type below an alias; declared: the type for a
-- column of a table variable; given: that for a variable without a collation, which has the code page of the database: so text is nvarchar there, and as long as a key's
-- value can be; is_exact: JSON can hold a value exactly; is_comparable: a trigger compares old and new where nobody says what to watch. Not compared are what the server
-- computes by itself, whose inputs are, and what no trigger can read (is_readable): text, ntext, image and encrypted columns.
-- is_unwritten: the server writes it, whatever a statement writes: rowversion, the times of a temporal table, and what is computed of more than its row.
CREATE FUNCTION dms.tracked_columns (@relation int) RETURNS TABLE
AS
RETURN
    SELECT c.column_id, c.name, QUOTENAME(c.name) AS quoted, told.type, c.max_length, c.precision, c.scale, c.is_nullable, c.is_identity, c.collation_name,
           c.is_computed, c.is_column_set,
           CONCAT(sized.type, CASE WHEN c.collation_name IS NOT NULL AND told.type NOT IN (N'text', N'ntext') THEN CONCAT(N' COLLATE ', c.collation_name) END) AS declared,
           CASE WHEN told.type IN (N'char', N'varchar') THEN CONCAT(N'n', told.type, N'(', CASE WHEN c.max_length BETWEEN 1 AND 4000 THEN c.max_length ELSE 4000 END, N')')
                ELSE sized.type END AS given,
           CASE WHEN told.type IN (
               N'bit', N'tinyint', N'smallint', N'int', N'bigint', N'decimal', N'numeric', N'money', N'smallmoney', N'char', N'varchar', N'nchar', N'nvarchar',
               N'date', N'datetime', N'smalldatetime', N'datetime2', N'datetimeoffset', N'time', N'uniqueidentifier', N'binary', N'varbinary') THEN 1 ELSE 0 END AS is_exact,
           CASE WHEN told.type IN (N'text', N'ntext', N'image') OR c.encryption_type IS NOT NULL THEN 0 ELSE 1 END AS is_readable,
           CASE WHEN told.type IN (N'text', N'ntext', N'image', N'timestamp') OR c.is_computed = 1 OR c.is_column_set = 1 OR c.generated_always_type <> 0
                     OR c.encryption_type IS NOT NULL THEN 0 ELSE 1 END AS is_comparable,
           CASE WHEN told.type = N'timestamp' OR c.generated_always_type <> 0 OR (c.is_computed = 1 AND COLUMNPROPERTY(c.object_id, c.name, 'IsDeterministic') = 0)
                THEN 1 ELSE 0 END AS is_unwritten,
           CASE WHEN c.encryption_type IS NOT NULL THEN 1 ELSE 0 END AS is_encrypted, c.is_masked
    FROM sys.columns AS c
    CROSS APPLY (SELECT CASE WHEN c.system_type_id = 240 THEN N'clr' ELSE CAST(TYPE_NAME(c.system_type_id) AS nvarchar(128)) END AS type) AS told
    CROSS APPLY (
        SELECT CASE
            WHEN told.type IN (N'char', N'varchar', N'binary', N'varbinary')
                THEN CONCAT(told.type, N'(', CASE WHEN c.max_length = -1 THEN N'max' ELSE CAST(c.max_length AS nvarchar(10)) END, N')')
            WHEN told.type IN (N'nchar', N'nvarchar')
                THEN CONCAT(told.type, N'(', CASE WHEN c.max_length = -1 THEN N'max' ELSE CAST(c.max_length / 2 AS nvarchar(10)) END, N')')
            WHEN told.type IN (N'decimal', N'numeric') THEN CONCAT(told.type, N'(', c.precision, N', ', c.scale, N')')
            WHEN told.type IN (N'datetime2', N'datetimeoffset', N'time') THEN CONCAT(told.type, N'(', c.scale, N')')
            ELSE told.type END AS type) AS sized
    WHERE c.object_id = @relation;
-- drop: DROP FUNCTION dms.tracked_columns;
