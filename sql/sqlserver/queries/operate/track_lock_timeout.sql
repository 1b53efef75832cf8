-- sql/sqlserver/queries/operate/track_lock_timeout.sql: how long the next track, renew or untrack of this session waits for a lock, which takes it and forgets it.
-- Binds: lock_timeout (milliseconds as text, -1: for ever).
SET NOCOUNT ON;
DECLARE @lock_timeout nvarchar(20) = :lock_timeout;
EXEC sys.sp_set_session_context N'dmsjournal.lock_timeout', @lock_timeout;
SELECT @lock_timeout AS lock_timeout;
