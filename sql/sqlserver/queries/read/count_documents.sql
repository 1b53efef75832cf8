-- sql/sqlserver/queries/read/count_documents.sql: how many live documents one resource has. Binds: resource_key_id. Gives: total.
-- Plan: a range of IX_Document_ResourceKeyId.
DECLARE @resource_key_id smallint = :resource_key_id;
SELECT COUNT_BIG(*) AS total FROM dms.Document WHERE ResourceKeyId = @resource_key_id;
