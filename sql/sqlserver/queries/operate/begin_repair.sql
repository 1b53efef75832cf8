-- sql/sqlserver/queries/operate/begin_repair.sql: a repair gives up on a lock, and changes nothing in that transaction, rather than make writers
-- queue behind it. Milliseconds; it stays with the connection, and begin_repair is the first statement of each repair.
-- The SELECT begins the transaction: with autocommit off neither SET nor EXEC does, nor ALTER SEQUENCE.
DECLARE @revisions int;
SET LOCK_TIMEOUT 5000;
SELECT @revisions = COUNT(*) FROM dms.alembic_version;
