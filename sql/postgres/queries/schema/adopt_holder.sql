-- sql/postgres/queries/schema/adopt_holder.sql: which session adopts, in words; no row where none does. Another role's name is always shown, its
-- application and address only to who may read all statistics.
SELECT concat('session ', held.pid, ' of ', activity.usename, ' (', concat_ws(', ', nullif(activity.application_name, ''),
              CASE WHEN activity.state IS NOT NULL THEN 'on ' || coalesce(host(activity.client_addr), 'the server') ELSE 'address hidden' END), ')') AS holder
FROM pg_locks AS held LEFT JOIN pg_stat_activity AS activity USING (pid)
WHERE held.locktype = 'advisory' AND held.objsubid = 2 AND held.classid = 1146768492 AND held.objid = 1 AND held.granted
  AND held.database = (SELECT oid FROM pg_database WHERE datname = current_database())
