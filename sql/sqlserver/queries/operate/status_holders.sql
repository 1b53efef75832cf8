-- sql/sqlserver/queries/operate/status_holders.sql: the transactions that hold a floor, each at its lowest, the lowest first: it holds the horizon.
-- Gives: floor; pid, the session's id, null for a distributed transaction that has lost its session; prepared, that one's unit of work;
--   user_name; application; client; state; transaction_seconds. Refused to whom status_hidden.sql names `holders`: not to be run then.
-- The client is the host's name: its address, in sys.dm_exec_connections, asks for a further right from SQL Server 2022 on.
-- The name of a lock is read as oldest_floor.v1.sql reads it, which says which floor is the lowest that counts: a lock below that one is another
-- application's. A transaction's begin is in the server's local time.
SET NOCOUNT ON;
DECLARE @oldest bigint;
EXEC dms.oldest_floor @oldest OUTPUT;
SELECT held.floor,
       CASE WHEN held.session_id > 0 THEN held.session_id END AS pid,
       CASE WHEN held.session_id <= 0 THEN CAST(held.unit_of_work AS nvarchar(36)) END AS prepared,
       session.login_name AS user_name, NULLIF(session.program_name, N'') AS application,
       session.host_name AS client, session.status AS state,
       DATEDIFF_BIG(millisecond, active.transaction_begin_time, GETDATE()) / CAST(1000 AS float) AS transaction_seconds
FROM (
    SELECT request_session_id AS session_id, request_owner_id AS transaction_id, request_owner_guid AS unit_of_work,
           MIN(TRY_CAST(SUBSTRING(name, 1, PATINDEX(N'%[^0-9]%', name + N']') - 1) AS bigint)) AS floor
    FROM (
        SELECT request_session_id, request_owner_id, request_owner_guid,
               SUBSTRING(resource_description, CHARINDEX(N'[dmsjournal:', resource_description) + 12, 64) AS name
        FROM sys.dm_tran_locks
        WHERE resource_type = N'APPLICATION' AND resource_database_id = DB_ID() AND request_status = N'GRANT'
          AND resource_description LIKE N'%![dmsjournal:[0-9]%' ESCAPE N'!'
    ) AS locks
    GROUP BY request_session_id, request_owner_id, request_owner_guid
) AS held
LEFT JOIN sys.dm_exec_sessions AS session ON session.session_id = held.session_id
LEFT JOIN sys.dm_tran_active_transactions AS active ON active.transaction_id = held.transaction_id
WHERE held.floor >= @oldest
ORDER BY held.floor, active.transaction_begin_time, held.session_id;
