-- sql/postgres/checks/lock_timeout_at_most.sql: the transaction waits for a lock for so many milliseconds at most, and no longer than before.
SELECT pg_catalog.set_config('lock_timeout', '{lock_timeout}', true) FROM pg_catalog.pg_settings
WHERE name OPERATOR(pg_catalog.=) 'lock_timeout'
  AND (setting OPERATOR(pg_catalog.=) '0' OR setting::int OPERATOR(pg_catalog.>) '{lock_timeout}'::int);
