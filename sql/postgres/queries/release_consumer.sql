-- sql/postgres/queries/release_consumer.sql: lets another program read as the consumer. Binds: name. Gives: released.
SELECT pg_advisory_unlock(1146768494, hashtext(CAST(:name AS text))) AS released
