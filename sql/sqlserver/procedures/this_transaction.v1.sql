-- sql/sqlserver/procedures/this_transaction.v1.sql: the id of the transaction that it is called in.
CREATE PROCEDURE dms.this_transaction @transaction_id bigint OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET ROWCOUNT 0;  -- the caller's; it is the caller's again on return
    SET @transaction_id = CURRENT_TRANSACTION_ID();
END;
-- drop: DROP PROCEDURE dms.this_transaction;
