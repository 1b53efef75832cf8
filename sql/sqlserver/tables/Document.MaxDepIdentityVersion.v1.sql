-- sql/sqlserver/tables/Document.MaxDepIdentityVersion.v1.sql: option max_dep_identity_version: the newest identity stamp among what a
-- document refers to, where that is above its own stamps. A constant default: no row is written. ALTER TABLE waits until nobody is
-- writing: whoever renames or refers from then on does it under the triggers.
IF OBJECT_ID(N'dms.ResourceChange') IS NULL
    THROW 50006, N'option max_dep_identity_version needs revision 0006. Upgrade to it first.', 1;
ALTER TABLE dms.Document ADD MaxDepIdentityVersion bigint NOT NULL CONSTRAINT DF_Document_MaxDepIdentityVersion DEFAULT 0;
-- drop: ALTER TABLE dms.Document DROP CONSTRAINT DF_Document_MaxDepIdentityVersion;
-- drop: ALTER TABLE dms.Document DROP COLUMN MaxDepIdentityVersion;
