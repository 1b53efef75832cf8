-- sql/postgres/queries/schema/adopt_document_values.sql: what is null and must not be, for a batch of documents. Version 0: never stamped.
-- Binds: after_id, through_id.
UPDATE dms.Document
SET ContentVersion = coalesce(ContentVersion, 0), IdentityVersion = coalesce(IdentityVersion, 0),
    ContentLastModifiedAt = coalesce(ContentLastModifiedAt, now()), IdentityLastModifiedAt = coalesce(IdentityLastModifiedAt, now()),
    CreatedAt = coalesce(CreatedAt, now())
WHERE DocumentId > CAST(:after_id AS bigint) AND DocumentId <= CAST(:through_id AS bigint)
  AND (ContentVersion IS NULL OR IdentityVersion IS NULL OR ContentLastModifiedAt IS NULL OR IdentityLastModifiedAt IS NULL OR CreatedAt IS NULL)
