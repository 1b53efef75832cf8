-- sql/sqlserver/queries/is_empty.sql: whether a database has no table of anybody's, and no schema dms.
SELECT CAST(CASE WHEN SCHEMA_ID(N'dms') IS NULL AND NOT EXISTS (SELECT * FROM sys.tables WHERE is_ms_shipped = 0) THEN 1 ELSE 0 END AS bit);
