-- sql/sqlserver/queries/operate/hold_lease.sql: renews, takes or gives back a lease; see procedures/hold_lease.v1.sql. Binds: name; token (uuid);
-- process (printable ASCII); seconds (0: give it back); taking. Gives: is_ours, is_busy, holder, expires_at, ends_in (seconds).
SET NOCOUNT ON;
DECLARE @name nvarchar(300) = :name, @token uniqueidentifier = :token, @process nvarchar(256) = :process, @seconds int = :seconds,
        @taking bit = :taking;
EXEC dms.hold_lease @name, @token, @process, @seconds, @taking;
