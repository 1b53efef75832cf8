-- sql/sqlserver/queries/operate/status_tracking_seen.sql: whether the user may see what status_tracking.sql reads, and the grant that would let it.
SET NOCOUNT ON;
SELECT CASE WHEN HAS_PERMS_BY_NAME(QUOTENAME(DB_NAME()), N'DATABASE', N'VIEW DEFINITION') = 1 AND HAS_PERMS_BY_NAME(N'dms.TrackedTable', N'OBJECT', N'SELECT') = 1
                 AND HAS_PERMS_BY_NAME(N'dms.check_tracking', N'OBJECT', N'SELECT') = 1 THEN 1 ELSE 0 END AS is_seen,
       CONCAT(N'GRANT VIEW DEFINITION TO ', QUOTENAME(USER_NAME()), N'; GRANT SELECT ON SCHEMA::dms TO ', QUOTENAME(USER_NAME())) AS remedy;
