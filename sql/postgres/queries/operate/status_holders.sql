-- sql/postgres/queries/operate/status_holders.sql: the transactions that hold a floor, each at its lowest, the lowest first: it holds the horizon.
-- Gives: floor; pid, null for a prepared transaction; prepared, its name; user_name; application; client; state; transaction_seconds
--   (of a prepared one since it was prepared). Of other roles' sessions the last three are null without pg_read_all_stats.
SELECT held.floor, held.pid, prepared.gid AS prepared, coalesce(activity.usename, prepared.owner) AS user_name,
       nullif(activity.application_name, '') AS application,
       CASE WHEN activity.state IS NOT NULL THEN coalesce(host(activity.client_addr), 'local') END AS client,
       activity.state,
       CAST(extract(epoch FROM clock_timestamp() - coalesce(activity.xact_start, prepared.prepared)) AS double precision)
           AS transaction_seconds
FROM (SELECT pid, virtualtransaction, min(floor) AS floor FROM dms.held_floors() GROUP BY pid, virtualtransaction) AS held
LEFT JOIN pg_stat_activity AS activity ON activity.pid = held.pid
LEFT JOIN (
    SELECT own.virtualtransaction, prepared.gid, prepared.owner, prepared.prepared
    FROM pg_locks AS own JOIN pg_prepared_xacts AS prepared ON prepared.transaction = own.transactionid
    WHERE own.locktype = 'transactionid' AND own.pid IS NULL  -- each transaction holds its own id
) AS prepared ON held.pid IS NULL AND prepared.virtualtransaction = held.virtualtransaction
ORDER BY held.floor, transaction_seconds DESC NULLS LAST, held.pid, prepared.gid
