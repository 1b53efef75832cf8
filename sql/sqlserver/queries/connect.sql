-- sql/sqlserver/queries/connect.sql: what a new connection needs, whatever the defaults of its login and database: an error ends the
-- transaction, and arithmetic behaves as the server's plans expect.
SET XACT_ABORT ON;
SET ARITHABORT ON;
