-- sql/sqlserver/procedures/lock_name.v1.sql: the name of an application lock of ours: dmsjournal:<of>:<code>. A writer that entered at a floor holds
-- the one of that floor (enter_change.v1.sql); others are of keys (lock_keys.v1.sql) and of consumers (lock_consumers.v1.sql).
-- The code is made of what the lock is of and of dms.FloorSecret. Every user may take any application lock whose name it knows, and may write any
-- value into its session context; it cannot know this name. So only our procedures take these locks, and a transaction that owns the lock of
-- a floor has entered at it by dms.enter_change.
-- sys.dm_tran_locks shows the first 32 characters of a name: the whole floor and a part of the code (oldest_floor.v1.sql).
CREATE PROCEDURE dms.lock_name @of nvarchar(32), @name nvarchar(80) OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET ROWCOUNT 0;  -- the caller's; it is the caller's again on return
    SET @name = NULL;
    SELECT @name = N'dmsjournal:' + @of + N':' + LEFT(CONVERT(nvarchar(64), HASHBYTES('SHA2_256', Secret + CAST(@of AS varbinary(64))), 2), 32)
    FROM dms.FloorSecret;
    IF @name IS NULL
        THROW 50006, N'dms.FloorSecret holds no row. INSERT INTO dms.FloorSecret (Secret) VALUES (CRYPT_GEN_RANDOM(32)), as the installation did.', 1;
END;
-- drop: DROP PROCEDURE dms.lock_name;
