-- sql/sqlserver/queries/end_repair.sql: whoever has the connection next waits for locks as the server's default says.
SET LOCK_TIMEOUT -1;
