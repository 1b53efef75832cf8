-- sql/sqlserver/queries/operate/raise_sequence.sql: the sequence above whatever the journals hold. Runs after repair_sequence, in its transaction.
-- Binds: version (the newest that was given). It is drawn here, so that the sequence's current value is the last one that was given.
SET NOCOUNT ON;
DECLARE @version bigint = :version, @newest bigint, @restart nvarchar(200);
EXEC dms.newest_stamp @newest OUTPUT;
IF @newest <= @version  -- after a restart @version may be what comes next: newest_stamp.v1.sql
BEGIN
    SET @restart = N'ALTER SEQUENCE dms.ChangeVersionSequence RESTART WITH ' + CAST(@version AS nvarchar(20)) + N';';
    EXEC sys.sp_executesql @restart;
    EXEC sys.sp_executesql N'DECLARE @none bigint = NEXT VALUE FOR dms.ChangeVersionSequence;';
END;
