-- sql/sqlserver/tables/JournalFloor.raised.v1.sql: no parent was stamped while edges came and went, so what happened before is not known: the
-- floors rise to a stamp of their own.
DECLARE @newest bigint, @floor bigint = 0;
EXEC dms.newest_stamp @newest OUTPUT;
IF @newest > 0
BEGIN
    SET @floor = NEXT VALUE FOR dms.ChangeVersionSequence;
    IF @floor <= @newest  -- after a restart: newest_stamp.v1.sql
        SET @floor = NEXT VALUE FOR dms.ChangeVersionSequence;
    UPDATE dms.JournalFloor SET ChangeVersion = @floor WHERE Journal IN (N'DocumentChangeEvent', N'IdentityChangeEvent');
END;
