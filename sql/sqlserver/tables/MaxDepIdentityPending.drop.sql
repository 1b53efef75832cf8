-- sql/sqlserver/tables/MaxDepIdentityPending.drop.sql
DROP INDEX IX_Document_MaxDepIdentityVersion ON dms.Document;
DROP TABLE dms.MaxDepIdentityPending;
