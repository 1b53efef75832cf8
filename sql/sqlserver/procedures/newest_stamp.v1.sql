-- sql/sqlserver/procedures/newest_stamp.v1.sql: the last stamp that the sequence has given, committed or not; 0 where it gave none.
-- READ COMMITTED, whatever the caller's: it must not keep a lock on the sequence's row in the catalog. The caller's is back on return.
CREATE PROCEDURE dms.newest_stamp @newest bigint OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SELECT @newest = CAST(current_value AS bigint) FROM sys.sequences WHERE object_id = OBJECT_ID(N'dms.ChangeVersionSequence');
    IF @newest IS NULL
        THROW 50006, N'the user may not see dms.ChangeVersionSequence. GRANT VIEW DEFINITION ON dms.ChangeVersionSequence TO public, as the installation did.', 1;
END;
