-- sql/sqlserver/queries/operate/end_repair.sql: whoever has the connection next waits for locks as connect.sql says.
SET LOCK_TIMEOUT 30000;
