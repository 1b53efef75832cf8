-- sql/sqlserver/tables/Document.MaxDepIdentityVersion.drop.sql
ALTER TABLE dms.Document DROP CONSTRAINT DF_Document_MaxDepIdentityVersion;
ALTER TABLE dms.Document DROP COLUMN MaxDepIdentityVersion;
