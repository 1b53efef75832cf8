-- sql/sqlserver/procedures/restore_identity.v1.sql: gives a program its @@IDENTITY back, after a trigger on its table has inserted documents, whose ids are identities as well.
-- The server keeps the last identity of the session, wherever it was given: so a table that goes at once is given the program's.
CREATE PROCEDURE dms.restore_identity @identity numeric(38, 0)
AS
BEGIN
    SET NOCOUNT ON;
    SET ROWCOUNT 0;  -- the caller's; it is the caller's again on return
    DECLARE @statement nvarchar(400);
    IF @@IDENTITY = @identity
        RETURN;
    SET @statement = CONCAT(N'CREATE TABLE #dmsjournal_identity (Id numeric(38, 0) IDENTITY (', @identity, N', 1), Nothing bit NULL);
INSERT INTO #dmsjournal_identity (Nothing) VALUES (NULL);');
    EXEC sys.sp_executesql @statement;
END;
-- drop: DROP PROCEDURE dms.restore_identity;
