-- sql/postgres/queries/write/insert_documents.sql: new documents with their bodies, stamped in the order of the rows, so that what refers to
-- something before it in the same rows has the higher stamp (and its edges need not stamp it again).
-- Binds: rows (JSON array of {document_uuid, resource_key_id, key_values, body, etag}). Gives: document_uuid, document_id.
WITH wanted AS MATERIALIZED (
    SELECT * FROM ROWS FROM (jsonb_to_recordset(CAST(:rows AS jsonb))
        AS (document_uuid uuid, resource_key_id smallint, key_values jsonb, body jsonb, etag varchar)) WITH ORDINALITY
),
inserted AS (
    INSERT INTO dms.Document (DocumentUuid, ResourceKeyId, KeyValues)
    SELECT document_uuid, resource_key_id, key_values FROM wanted ORDER BY ordinality
    RETURNING DocumentId, DocumentUuid, ContentVersion, ContentLastModifiedAt
),
cached AS (
    INSERT INTO dms.DocumentCache (DocumentId, DocumentJson, Etag, LastModifiedAt, ComputedVersion)
    SELECT inserted.DocumentId, wanted.body, wanted.etag, inserted.ContentLastModifiedAt, inserted.ContentVersion
    FROM inserted JOIN wanted ON wanted.document_uuid = inserted.DocumentUuid
)
SELECT DocumentUuid AS document_uuid, DocumentId AS document_id FROM inserted
