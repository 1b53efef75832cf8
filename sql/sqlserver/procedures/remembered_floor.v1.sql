-- sql/sqlserver/procedures/remembered_floor.v1.sql: the floor that the session remembers for a transaction, null where it has entered none.
-- The session context is no table: what is rolled back stays in it, and so does what another transaction wrote.
CREATE PROCEDURE dms.remembered_floor @transaction_id bigint, @floor bigint OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @remembered nvarchar(64) = CAST(SESSION_CONTEXT(N'dms.entered_at') AS nvarchar(64));
    DECLARE @prefix nvarchar(32) = CAST(@transaction_id AS nvarchar(20)) + N':';
    SET @floor = NULL;
    IF LEFT(@remembered, LEN(@prefix)) = @prefix
        SET @floor = COALESCE(TRY_CAST(SUBSTRING(@remembered, LEN(@prefix) + 1, 20) AS bigint), -1);
END;
