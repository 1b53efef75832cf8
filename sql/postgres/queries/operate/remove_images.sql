-- sql/postgres/queries/operate/remove_images.sql: removes images. Binds: rows (JSON array of {change_version, document_id}).
DELETE FROM dms.DocumentImage AS image
USING jsonb_to_recordset(CAST(:rows AS jsonb)) AS wanted (change_version bigint, document_id bigint)
WHERE image.ChangeVersion = wanted.change_version AND image.DocumentId = wanted.document_id
