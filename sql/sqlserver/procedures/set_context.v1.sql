-- sql/sqlserver/procedures/set_context.v1.sql: option context: says what causes the changes of this transaction from here on. What a session's
-- context holds outlives the transaction, so the transaction's id goes with it: in the next one it means nothing.
CREATE PROCEDURE dms.set_context @context nvarchar(3900)
AS
BEGIN
    SET NOCOUNT ON;
    SET ROWCOUNT 0;  -- the caller's; it is the caller's again on return
    DECLARE @transaction_id bigint, @bound nvarchar(4000);
    IF @@TRANCOUNT = 0
        THROW 50008, N'a context belongs to a transaction, and there is none. BEGIN TRANSACTION first.', 1;
    EXEC dms.this_transaction @transaction_id OUTPUT;
    SET @bound = CAST(@transaction_id AS nvarchar(20)) + N':' + COALESCE(@context, N'{}');
    EXEC sys.sp_set_session_context N'dmsjournal.transaction_context', @bound;
END;
-- drop: DROP PROCEDURE dms.set_context;
