-- sql/sqlserver/queries/prune_unlock.sql: lets another prune begin.
EXEC sys.sp_releaseapplock @Resource = N'dmsjournal prune', @LockOwner = N'Session';
