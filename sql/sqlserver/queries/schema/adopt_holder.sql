-- sql/sqlserver/queries/schema/adopt_holder.sql: which session adopts, in words; no row where none does. Needs the right that
-- procedures/oldest_floor.v1.sql needs.
SELECT CONCAT(N'session ', held.request_session_id, N' of ', session.login_name, N' (', session.program_name, N', on ', session.host_name,
              N')') AS holder
FROM sys.dm_tran_locks AS held LEFT JOIN sys.dm_exec_sessions AS session ON session.session_id = held.request_session_id
WHERE held.resource_type = N'APPLICATION' AND held.resource_database_id = DB_ID() AND held.request_status = N'GRANT'
  AND held.resource_description LIKE N'%![dmsjournal adoption!]%' ESCAPE N'!';
