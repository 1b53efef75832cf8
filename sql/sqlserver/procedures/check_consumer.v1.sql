-- sql/sqlserver/procedures/check_consumer.v1.sql: a consumer's row belongs to the user that registered it. That user, members of a role of that
-- name, and a user that may delete the journal's events (the pruner, the installing user) may change or remove it; others are refused.
-- Called by move_consumer, drop_consumer and the query that holds a name. @owner is null where no consumer has the name.
-- Twin: sql/postgres/functions/keep_consumer.v1.sql. USER_NAME() is the caller's: nothing here runs as its owner, the rights on the table
-- come by ownership chaining.
CREATE PROCEDURE dms.check_consumer @name nvarchar(256), @owner nvarchar(128) = NULL OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET ROWCOUNT 0;  -- the caller's; it is the caller's again on return
    DECLARE @message nvarchar(2048);
    SELECT @owner = Owner FROM dms.ChangeConsumer WHERE Name = @name;
    IF @owner <> USER_NAME() AND COALESCE(IS_MEMBER(@owner), 0) = 0
       AND COALESCE(HAS_PERMS_BY_NAME(N'dms.DocumentChangeEvent', N'OBJECT', N'DELETE'), 0) = 0
    BEGIN
        SET @message = CONCAT(N'consumer ', @name, N' belongs to user ', @owner, N', not to ', USER_NAME(),
            N'. Use another name, or act as its owner, a member of it, or a user that may prune (docs/dba/roles.md).');
        THROW 50007, @message, 1;
    END;
END;
-- drop: DROP PROCEDURE dms.check_consumer;
