-- sql/sqlserver/procedures/this_transaction.v1.sql: the id of the transaction that it is called in.
CREATE PROCEDURE dms.this_transaction @transaction_id bigint OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET @transaction_id = CURRENT_TRANSACTION_ID();
END;
