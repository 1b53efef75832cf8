-- sql/sqlserver/queries/events/moment.sql: the database's clock, and the newest stamp that the sequence has given after it.
-- Gives: one row: now; drawn, 0 where none was given. now is read first: a stamp above drawn is drawn later, and so is its event's time.
-- Plan: the sequence's row in the catalog.
SET NOCOUNT ON;
DECLARE @now datetime2(7) = SYSUTCDATETIME(), @drawn bigint;
EXEC dms.newest_stamp @drawn OUTPUT;
SELECT @now AS now, @drawn AS drawn;
