-- sql/sqlserver/queries/share_identities.sql: nobody renames what some keys name, until the transaction ends; others may share.
-- Binds: stripes (JSON array of numbers, ascending, which is the order in which all writers lock). A key's stripe is its hash.
SET NOCOUNT ON;
DECLARE @stripes nvarchar(max) = :stripes, @position int = 0, @count int, @name nvarchar(64), @status int;
SELECT @count = COUNT(*) FROM OPENJSON(@stripes);
WHILE @position < @count
BEGIN
    SELECT @name = N'dmsjournal identity ' + value FROM OPENJSON(@stripes) WHERE CAST([key] AS int) = @position;
    EXEC @status = sys.sp_getapplock @Resource = @name, @LockMode = N'Shared', @LockOwner = N'Transaction', @LockTimeout = -1;
    IF @status < 0
        THROW 50005, N'a lock on keys could not be taken. Try the transaction again.', 1;
    SET @position = @position + 1;
END;
