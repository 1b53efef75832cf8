-- sql/sqlserver/queries/database/enter_change.sql: enters the transaction among the writers, before it draws stamps itself (invariant 5). What is drawn
-- here is above the floor and is given to nobody, so what is drawn afterwards is above it too: newest_stamp.v1.sql.
SET NOCOUNT ON;
DECLARE @floor bigint, @transaction_id bigint, @drawn bigint;
EXEC dms.enter_change @floor OUTPUT, @transaction_id OUTPUT;
SET @drawn = NEXT VALUE FOR dms.ChangeVersionSequence;
IF @drawn <= @floor
    SET @drawn = NEXT VALUE FOR dms.ChangeVersionSequence;
IF @drawn <= @floor
    THROW 50003, N'the sequence dms.ChangeVersionSequence was set back: it gives stamps again. Run dmsjournal verify --repair.', 1;
