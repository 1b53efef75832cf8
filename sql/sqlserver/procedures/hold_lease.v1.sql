-- sql/sqlserver/procedures/hold_lease.v1.sql: renews a lease that is held under the token; takes one that is free or has expired, if @taking; gives
-- one back, if @seconds is 0. Gives one row: is_ours, is_busy (0 here), and of the other holder: in words, when its lease ends, and in how
-- many seconds. Waits for a transaction of the holder, at most for the lock timeout.
-- The row stays locked until the caller's transaction ends. So what that transaction writes is written while the lease is the caller's.
-- A user that may delete the journal's events takes any lease. Another user takes the lease of a consumer that is its own (check_consumer),
-- or that no user has registered. Nothing here runs as its owner: the rights on the table come by ownership chaining.
CREATE PROCEDURE dms.hold_lease @name nvarchar(300), @token uniqueidentifier, @process nvarchar(256), @seconds int, @taking bit
AS
BEGIN
    SET NOCOUNT ON;
    SET ROWCOUNT 0;  -- the caller's; it is the caller's again on return
    DECLARE @is_ours bit = 0, @consumer nvarchar(256), @owner nvarchar(128), @message nvarchar(2048);
    IF @seconds NOT BETWEEN 0 AND 300
        THROW 50002, N'a lease is of 0 to 300 seconds. Ask for as many.', 1;
    IF @name LIKE N'consumer _%'
    BEGIN
        SET @consumer = SUBSTRING(@name, 10, 256);
        EXEC dms.check_consumer @consumer, @owner OUTPUT;
    END;
    ELSE IF COALESCE(HAS_PERMS_BY_NAME(N'dms.DocumentChangeEvent', N'OBJECT', N'DELETE'), 0) = 0
    BEGIN
        SET @message = CONCAT(N'user ', USER_NAME(), N' may not prune. Act as a user that may (docs/dba/roles.md).');
        THROW 50007, @message, 1;
    END;
    IF @seconds = 0
    BEGIN
        DELETE FROM dms.Lease WHERE Name = @name AND Token = @token;
        SELECT 0 AS is_ours, 0 AS is_busy, CAST(NULL AS nvarchar(600)) AS holder, CAST(NULL AS datetime2(7)) AS expires_at, CAST(NULL AS float) AS ends_in;
        RETURN;
    END;
    UPDATE dms.Lease SET ExpiresAt = DATEADD(second, @seconds, SYSUTCDATETIME()) WHERE Name = @name AND Token = @token;
    SET @is_ours = @@ROWCOUNT;
    IF @is_ours = 0 AND @taking = 1
    BEGIN
        UPDATE dms.Lease
        SET Token = @token, Process = @process, Owner = USER_NAME(),
            TakenAt = SYSUTCDATETIME(), ExpiresAt = DATEADD(second, @seconds, SYSUTCDATETIME())
        WHERE Name = @name AND ExpiresAt <= SYSUTCDATETIME();
        SET @is_ours = @@ROWCOUNT;
        IF @is_ours = 0
        BEGIN
            INSERT INTO dms.Lease (Name, Token, Process, Owner, TakenAt, ExpiresAt)
            SELECT @name, @token, @process, USER_NAME(), SYSUTCDATETIME(), DATEADD(second, @seconds, SYSUTCDATETIME())
            WHERE NOT EXISTS (SELECT * FROM dms.Lease AS known WITH (UPDLOCK, HOLDLOCK) WHERE known.Name = @name);
            SET @is_ours = @@ROWCOUNT;
        END;
    END;
    SELECT @is_ours AS is_ours, 0 AS is_busy,
           CONCAT(N'user ', held.Owner, N', ', held.Process, N', since ', CONVERT(nvarchar(19), held.TakenAt, 120), N' UTC') AS holder,
           held.ExpiresAt AS expires_at,
           CASE WHEN held.ExpiresAt > SYSUTCDATETIME() THEN DATEDIFF_BIG(millisecond, SYSUTCDATETIME(), held.ExpiresAt) / CAST(1000 AS float) ELSE 0 END AS ends_in
    FROM (SELECT 1 AS one) AS one LEFT JOIN dms.Lease AS held ON held.Name = @name;
END;
-- drop: DROP PROCEDURE dms.hold_lease;
