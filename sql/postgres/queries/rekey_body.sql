-- sql/postgres/queries/rekey_body.sql: the bodies of documents whose keys changed: a value at the top of the body, under a name of the
-- key, becomes the key's. Binds: rows (JSON array of {document_id, key_values}).
UPDATE dms.DocumentCache AS cache
SET DocumentJson = cache.DocumentJson || (
    SELECT jsonb_object_agg(own.key, own.value) FROM jsonb_each(wanted.key_values) AS own WHERE cache.DocumentJson ? own.key)
FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS wanted (document_id bigint, key_values jsonb)
WHERE cache.DocumentId = wanted.document_id
  AND EXISTS (SELECT FROM jsonb_each(wanted.key_values) AS own WHERE cache.DocumentJson -> own.key <> own.value)
