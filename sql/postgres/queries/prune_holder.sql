-- sql/postgres/queries/prune_holder.sql: which session prunes, in words; no row where none does. Another role's name is always shown, its
-- application and address only to who may read all statistics.
SELECT concat('session ', held.pid, ' of ', activity.usename, ' (', nullif(activity.application_name, '') || ', ',
              'on ', coalesce(host(activity.client_addr), 'the server'), ')') AS holder
FROM pg_locks AS held LEFT JOIN pg_stat_activity AS activity USING (pid)
WHERE held.locktype = 'advisory' AND held.objsubid = 2 AND held.classid = 1146768493 AND held.objid = 0 AND held.granted
  AND held.database = (SELECT oid FROM pg_database WHERE datname = current_database())
