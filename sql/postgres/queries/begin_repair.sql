-- sql/postgres/queries/begin_repair.sql: a repair gives up on a lock, and changes nothing in that transaction, rather than make writers
-- queue behind it.
SELECT set_config('lock_timeout', '5s', true)
