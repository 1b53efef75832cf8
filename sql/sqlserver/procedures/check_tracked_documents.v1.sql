-- sql/sqlserver/procedures/check_tracked_documents.v1.sql: documents of a tracked table that have no row, or the key of another document, among the next 10,000 after an id. Ends with a row 'end': the
-- last id that was looked at, null at the end. Gives nothing for a table that is gone: check_tracking tells of it.
CREATE PROCEDURE dms.check_tracked_documents @table_name nvarchar(600), @after bigint
AS
BEGIN
    SET NOCOUNT ON;
    SET ROWCOUNT 0;  -- the caller's; it is the caller's again on return
    DECLARE @tracked_id smallint, @procedure nvarchar(128);
    EXEC dms.check_tracked @table_name, @tracked_id OUTPUT;
    SET @procedure = CONCAT(N'dms.tracked_', @tracked_id, N'_documents');
    IF OBJECT_ID(@procedure) IS NULL OR OBJECT_ID(CONCAT(N'dms.tracked_', @tracked_id)) IS NULL OR dms.tracked_relation(@tracked_id) IS NULL
        SELECT CAST(NULL AS nvarchar(40)) AS code, CAST(NULL AS nvarchar(200)) AS name WHERE 1 = 0;
    ELSE
        EXEC @procedure @after;
END;
-- drop: DROP PROCEDURE dms.check_tracked_documents;
