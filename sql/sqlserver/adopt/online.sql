-- sql/sqlserver/adopt/online.sql: for what runs outside of a transaction, and long. A check waits for whom it must; the plan's own steps
-- set a lock timeout, since whoever comes after a waiting ALTER TABLE or CREATE INDEX waits too.
SET LOCK_TIMEOUT -1;
