-- sql/postgres/queries/read/count_documents.sql: how many live documents one resource has. Binds: resource_key_id. Gives: total.
-- Plan: a range of IX_Document_ResourceKeyId.
SELECT count(*) AS total FROM dms.Document WHERE ResourceKeyId = CAST(:resource_key_id AS smallint)
