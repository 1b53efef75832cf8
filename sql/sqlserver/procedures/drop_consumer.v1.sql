-- sql/sqlserver/procedures/drop_consumer.v1.sql: forgets a consumer of the user that asks for it (check_consumer). Gives its name, no row where
-- there is none. See register_consumer.v1.sql.
CREATE PROCEDURE dms.drop_consumer @name nvarchar(256)
AS
BEGIN
    SET NOCOUNT ON;
    SET ROWCOUNT 0;  -- the caller's; it is the caller's again on return
    DECLARE @rows int, @owner nvarchar(128);
    EXEC dms.check_consumer @name, @owner OUTPUT;
    DELETE consumer FROM dms.ChangeConsumer AS consumer WHERE consumer.Name = @name AND consumer.Owner = @owner;
    SET @rows = @@ROWCOUNT;
    SELECT @name AS name WHERE @rows = 1;
END;
-- drop: DROP PROCEDURE dms.drop_consumer;
