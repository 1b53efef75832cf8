-- sql/sqlserver/queries/database/connect.sql: what a new connection needs, whatever the defaults of its login and database: an error ends the
-- transaction, arithmetic behaves as the server's plans expect, and nothing of ours waits for a lock for ever (milliseconds).
SET XACT_ABORT ON;
SET ARITHABORT ON;
SET LOCK_TIMEOUT 30000;
