-- sql/sqlserver/queries/schema/adopt_document_values.sql: what is null and must not be, for a batch of documents. Version 0: never stamped.
-- Binds: after_id, through_id.
UPDATE dms.Document
SET ContentVersion = COALESCE(ContentVersion, 0), IdentityVersion = COALESCE(IdentityVersion, 0),
    ContentLastModifiedAt = COALESCE(ContentLastModifiedAt, SYSUTCDATETIME()),
    IdentityLastModifiedAt = COALESCE(IdentityLastModifiedAt, SYSUTCDATETIME()), CreatedAt = COALESCE(CreatedAt, SYSUTCDATETIME())
WHERE DocumentId > :after_id AND DocumentId <= :through_id
  AND (ContentVersion IS NULL OR IdentityVersion IS NULL OR ContentLastModifiedAt IS NULL OR IdentityLastModifiedAt IS NULL OR CreatedAt IS NULL);
