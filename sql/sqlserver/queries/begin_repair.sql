-- sql/sqlserver/queries/begin_repair.sql: a repair gives up on a lock, and changes nothing in that transaction, rather than make writers
-- queue behind it. Milliseconds; it stays with the connection, and begin_repair is the first statement of each repair.
SET LOCK_TIMEOUT 5000;
