-- sql/sqlserver/queries/database/lock_holders.sql: which sessions hold locks that a command of ours may have waited for, the strongest first. Gives: holder,
-- in words. Needs the right that procedures/oldest_floor.v1.sql needs. Of an application lock's name it shows nothing of the code (lock_name.v1.sql);
-- a writer's, of a floor, holds up nobody.
SET NOCOUNT ON;
SELECT TOP (3) CONCAT(N'session ', held.request_session_id, N' of ', session.login_name, N' (', session.program_name, N', on ', session.host_name,
              N'): ', MAX(held.request_mode), N' on ', MAX(what.name)) AS holder
FROM sys.dm_tran_locks AS held
CROSS APPLY (SELECT SUBSTRING(held.resource_description, CHARINDEX(N'[dmsjournal', held.resource_description) + 1, 64) AS name) AS described
CROSS APPLY (
    SELECT CASE WHEN held.resource_type = N'OBJECT' THEN N'dms.' + OBJECT_NAME(held.resource_associated_entity_id)
                ELSE LEFT(described.name, 10 + CHARINDEX(N':', REPLACE(SUBSTRING(described.name, 12, 64), N']', N':') + N':')) END AS name
) AS what
LEFT JOIN sys.dm_exec_sessions AS session ON session.session_id = held.request_session_id
WHERE held.resource_database_id = DB_ID() AND held.request_status = N'GRANT' AND held.request_session_id <> @@SPID
  AND ((held.resource_type = N'APPLICATION' AND held.resource_description LIKE N'%![dmsjournal[ :][^0-9]%' ESCAPE N'!')
       OR (held.resource_type = N'OBJECT' AND OBJECT_SCHEMA_NAME(held.resource_associated_entity_id) = N'dms'))
GROUP BY held.request_session_id, session.login_name, session.program_name, session.host_name
ORDER BY MAX(CASE held.request_mode WHEN N'Sch-M' THEN 5 WHEN N'X' THEN 4 WHEN N'S' THEN 3 WHEN N'IX' THEN 2 ELSE 1 END) DESC, held.request_session_id;
