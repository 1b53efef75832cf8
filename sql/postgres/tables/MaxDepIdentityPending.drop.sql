-- sql/postgres/tables/MaxDepIdentityPending.drop.sql
DROP INDEX IF EXISTS dms.IX_Document_MaxDepIdentityVersion;
DROP TABLE dms.MaxDepIdentityPending;
