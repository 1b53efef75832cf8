-- sql/postgres/tables/Document.MaxDepIdentityVersion.drop.sql
ALTER TABLE dms.Document DROP COLUMN MaxDepIdentityVersion;
