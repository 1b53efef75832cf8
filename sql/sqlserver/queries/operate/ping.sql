-- sql/sqlserver/queries/operate/ping.sql: whether the transaction is still good.
SELECT 1 AS one;
