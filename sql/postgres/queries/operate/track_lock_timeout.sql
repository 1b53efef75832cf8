-- sql/postgres/queries/operate/track_lock_timeout.sql: how long this transaction waits for a lock. Binds: lock_timeout (as PostgreSQL writes it).
SELECT set_config('lock_timeout', CAST(:lock_timeout AS text), true) AS lock_timeout
