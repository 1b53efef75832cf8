-- sql/postgres/queries/hold_consumer.sql: one program at a time reads as a consumer: a lock of the session, which ends with it. Waits for
-- nobody. Binds: name. Gives: taken. Two names that share a hash exclude each other for no reason, which one in 4 billion pairs does.
SELECT pg_try_advisory_lock(1146768494, hashtext(CAST(:name AS text))) AS taken
