-- sql/sqlserver/procedures/tracked_bodies.v1.sql: the rows of tracked tables as JSON, as they are now, by the ids of their documents (a JSON array). The query is dynamic, so ownership chaining does
-- not reach into it: who reads bodies needs SELECT on the tables, and sees their columns by it.
CREATE PROCEDURE dms.tracked_bodies @documents nvarchar(max)
AS
BEGIN
    SET NOCOUNT ON;
    SET ROWCOUNT 0;  -- the caller's; it is the caller's again on return
    DECLARE @tracked_id smallint = 0, @one nvarchar(max), @statement nvarchar(max) = N'SELECT CAST(0 AS bigint) AS document_id, CAST(NULL AS nvarchar(max)) AS body WHERE 1 = 0', @message nvarchar(2048);
    WHILE 1 = 1
    BEGIN
        SELECT @tracked_id = MIN(t.TrackedTableId) FROM dms.TrackedTable AS t
        WHERE t.TrackedTableId > @tracked_id AND t.ResourceKeyId IN (
            SELECT d.ResourceKeyId FROM dms.Document AS d WHERE d.DocumentId IN (SELECT CAST(listed.value AS bigint) FROM OPENJSON(@documents) AS listed));
        IF @tracked_id IS NULL
            BREAK;
        SET @one = NULL;
        SELECT @one = CONCAT(
                   N'SELECT d.DocumentId, ', dms.tracked_body(o.object_id, N'r', 0), N' AS body FROM (SELECT CAST(value AS bigint) AS DocumentId FROM OPENJSON(@documents)) AS w ',
                   N'INNER JOIN dms.Document AS d ON d.DocumentId = w.DocumentId AND d.ResourceKeyId = ', t.ResourceKeyId, N' ',
                   dms.tracked_row(@tracked_id, CONCAT(N'CASE WHEN d.ResourceKeyId = ', t.ResourceKeyId, N' THEN d.KeyValues END'), CONCAT(QUOTENAME(s.name), N'.', QUOTENAME(o.name), N' AS r')))
        FROM dms.TrackedTable AS t
        INNER JOIN sys.tables AS o ON o.object_id = dms.tracked_relation(@tracked_id)
        INNER JOIN sys.schemas AS s ON s.schema_id = o.schema_id
        WHERE t.TrackedTableId = @tracked_id AND EXISTS (SELECT * FROM dms.tracked_key(@tracked_id) AS k);
        IF @one IS NULL
        BEGIN
            SELECT @message = CONCAT(N'the user may not read table ', t.TableName, N', or it or its key is gone. GRANT SELECT ON ', t.TableName, N' to the user, or run dmsjournal tracked, which says what is wrong with it.')
            FROM dms.TrackedTable AS t WHERE t.TrackedTableId = @tracked_id;
            THROW 50006, @message, 1;
        END;
        SET @statement = CONCAT(@statement, N'
UNION ALL
', @one);
    END;
    SET @statement = CONCAT(@statement, N'
OPTION (LOOP JOIN, FORCE ORDER);');
    EXEC sys.sp_executesql @statement, N'@documents nvarchar(max)', @documents;
END;
-- drop: DROP PROCEDURE dms.tracked_bodies;
