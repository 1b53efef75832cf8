-- sql/sqlserver/procedures/newest_stamp.v1.sql: the last stamp that the sequence has given, committed or not; 0 where it gave none.
-- After a restart, a failover or offline and online, sys.sequences may show the next value to be given in its place. So whoever draws a stamp
-- draws again while it is at or below what this has shown: whatever the view shows, no stamp is at or below a horizon that was reported.
-- READ COMMITTED, whatever the caller's: it must not keep a lock on the sequence's row in the catalog. The caller's is back on return.
CREATE PROCEDURE dms.newest_stamp @newest bigint OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET ROWCOUNT 0;  -- the caller's; it is the caller's again on return
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SELECT @newest = CAST(current_value AS bigint) FROM sys.sequences WHERE object_id = OBJECT_ID(N'dms.ChangeVersionSequence');
    IF @newest IS NULL
        THROW 50006, N'the user may not see dms.ChangeVersionSequence. GRANT VIEW DEFINITION ON dms.ChangeVersionSequence TO public, as the installation did.', 1;
END;
-- drop: DROP PROCEDURE dms.newest_stamp;
