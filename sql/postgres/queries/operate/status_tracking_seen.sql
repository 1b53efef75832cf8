-- sql/postgres/queries/operate/status_tracking_seen.sql: whether the role may see what status_tracking.sql reads, and the grant that would let it.
SELECT has_function_privilege('dms.check_tracking()', 'EXECUTE') AND has_table_privilege('dms.TrackedTable', 'SELECT') AS is_seen,
       format('GRANT EXECUTE ON FUNCTION dms.check_tracking() TO %1$I; GRANT SELECT ON dms.TrackedTable TO %1$I', current_user) AS remedy
