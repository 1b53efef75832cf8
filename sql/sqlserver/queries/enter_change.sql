-- sql/sqlserver/queries/enter_change.sql: enters the transaction among the writers, before it draws stamps itself (invariant 5).
SET NOCOUNT ON;
DECLARE @floor bigint, @transaction_id bigint;
EXEC dms.enter_change @floor OUTPUT, @transaction_id OUTPUT;
