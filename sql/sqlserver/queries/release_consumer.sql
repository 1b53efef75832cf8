-- sql/sqlserver/queries/release_consumer.sql: lets another program read as the consumer. Binds: name. Gives: released.
SET NOCOUNT ON;
DECLARE @hash bigint = CAST(SUBSTRING(HASHBYTES('SHA2_256', CAST(:name AS nvarchar(256))), 1, 8) AS bigint);
DECLARE @resource nvarchar(255) = N'dmsjournal ' + CONVERT(nvarchar(20), @hash);
EXEC sys.sp_releaseapplock @Resource = @resource, @LockOwner = N'Session';
SELECT 1 AS released;
