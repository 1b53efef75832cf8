-- sql/postgres/queries/read/find_by_uuid.sql: the document with a uuid, if it is of the resource. Binds: resource_key_id, document_uuid.
SELECT DocumentId AS document_id
FROM dms.Document
WHERE DocumentUuid = CAST(:document_uuid AS uuid) AND ResourceKeyId = CAST(:resource_key_id AS smallint)
