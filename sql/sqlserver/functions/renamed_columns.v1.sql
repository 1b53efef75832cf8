-- sql/sqlserver/functions/renamed_columns.v1.sql: columns that were named once (a JSON array), as a table has them now: by name, else by number; one that is gone is left out.
CREATE FUNCTION dms.renamed_columns (@columns nvarchar(max), @known nvarchar(max), @relation int) RETURNS nvarchar(max)
AS
BEGIN
    IF @columns IS NULL
        RETURN NULL;
    RETURN (
        SELECT CONCAT(N'[', STRING_AGG(CAST(CONCAT(N'"', STRING_ESCAPE(named.name, N'json'), N'"') AS nvarchar(max)), N',') WITHIN GROUP (ORDER BY named.place), N']')
        FROM (
            SELECT CAST(listed.[key] AS int) AS place, COALESCE(same.name, moved.name) AS name
            FROM OPENJSON(@columns) AS listed
            LEFT JOIN sys.columns AS same ON same.object_id = @relation AND same.name = listed.value COLLATE DATABASE_DEFAULT
            OUTER APPLY (
                SELECT TOP (1) c.name
                FROM OPENJSON(@known) WITH (number int '$.number', name nvarchar(128) '$.name') AS k
                INNER JOIN sys.columns AS c ON c.object_id = @relation AND c.column_id = k.number
                WHERE k.name = listed.value COLLATE DATABASE_DEFAULT ORDER BY k.number) AS moved) AS named
        WHERE named.name IS NOT NULL);
END;
-- drop: DROP FUNCTION dms.renamed_columns;
