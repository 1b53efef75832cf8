-- sql/postgres/queries/consumer_holder.sql: which session reads as a consumer, in words; no row where none does. Binds: name. Another
-- role's name is always shown, its application and address only to who may read all statistics.
SELECT concat('session ', held.pid, ' of ', activity.usename, ' (', nullif(activity.application_name, '') || ', ',
              'on ', coalesce(host(activity.client_addr), 'the server'), ')') AS holder
FROM pg_locks AS held LEFT JOIN pg_stat_activity AS activity USING (pid)
WHERE held.locktype = 'advisory' AND held.objsubid = 2 AND held.classid = 1146768494 AND held.granted
  AND CAST(CAST(held.objid AS bigint) AS bit(32)) = CAST(hashtext(CAST(:name AS text)) AS bit(32))
  AND held.database = (SELECT oid FROM pg_database WHERE datname = current_database())
