-- sql/sqlserver/tables/JournalFloor.raised.v1.sql: no parent was stamped while edges came and went, so what happened before is not known: the
-- floors rise to a stamp of their own.
DECLARE @floor bigint;
EXEC dms.newest_stamp @floor OUTPUT;
IF @floor > 0
BEGIN
    SET @floor = NEXT VALUE FOR dms.ChangeVersionSequence;
    UPDATE dms.JournalFloor SET ChangeVersion = @floor WHERE Journal IN (N'DocumentChangeEvent', N'IdentityChangeEvent');
END;
