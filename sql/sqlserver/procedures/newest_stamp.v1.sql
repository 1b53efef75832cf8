-- sql/sqlserver/procedures/newest_stamp.v1.sql: the last stamp that the sequence has given, committed or not; 0 where it gave none.
-- A caller without rights on the sequence sees no row of it in sys.sequences: hence the owner's.
CREATE PROCEDURE dms.newest_stamp @newest bigint OUTPUT
WITH EXECUTE AS OWNER
AS
BEGIN
    SET NOCOUNT ON;
    SELECT @newest = CAST(current_value AS bigint) FROM sys.sequences WHERE object_id = OBJECT_ID(N'dms.ChangeVersionSequence');
END;
