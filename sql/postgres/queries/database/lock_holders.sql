-- sql/postgres/queries/database/lock_holders.sql: which sessions hold locks that a command of ours may have waited for, the strongest first; no table of
-- ours is read, so nothing is waited for. Gives: holder, in words. Another role's name is always shown, its application and address only to
-- who may read all statistics. Reading (ACCESS SHARE) holds up nothing but a migration, and comes last.
SELECT concat(CASE WHEN held.pid IS NULL THEN 'a prepared transaction'
                   ELSE concat('session ', held.pid, ' of ', activity.usename, ' (', concat_ws(', ', nullif(activity.application_name, ''),
                               CASE WHEN activity.state IS NOT NULL THEN 'on ' || coalesce(host(activity.client_addr), 'the server')
                                    ELSE 'address hidden' END), ')') END,
              ': ', string_agg(DISTINCT held.what, ', ')) AS holder
FROM (
    SELECT lock.pid, CASE WHEN lock.locktype = 'advisory' THEN 'advisory lock ' || lock.classid || ', ' || lock.objid
                          ELSE regexp_replace(lock.mode, 'Lock$', '') || ' on dms.' || class.relname END AS what,
           CASE WHEN lock.locktype = 'advisory' THEN 7
                ELSE coalesce(array_position(ARRAY['AccessShareLock', 'RowShareLock', 'RowExclusiveLock', 'ShareUpdateExclusiveLock', 'ShareLock',
                                                   'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock'], lock.mode), 0) END AS strength
    FROM pg_locks AS lock
    LEFT JOIN pg_class AS class ON lock.locktype = 'relation' AND class.oid = lock.relation AND class.relkind IN ('r', 'p')
                               AND class.relnamespace = to_regnamespace('dms')
    WHERE lock.granted AND lock.pid IS DISTINCT FROM pg_backend_pid()
      AND lock.database = (SELECT oid FROM pg_database WHERE datname = current_database())
      AND (class.oid IS NOT NULL
           OR (lock.locktype = 'advisory' AND lock.objsubid = 2 AND lock.classid BETWEEN 1146768490 AND 1146768494))
) AS held
LEFT JOIN pg_stat_activity AS activity ON activity.pid = held.pid
GROUP BY held.pid, activity.usename, activity.application_name, activity.client_addr, activity.state
ORDER BY max(held.strength) DESC, held.pid
LIMIT 3
