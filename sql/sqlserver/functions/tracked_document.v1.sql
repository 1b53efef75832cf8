-- sql/sqlserver/functions/tracked_document.v1.sql: the SQL query that finds the document of a resource by expressions for its key and the key's hash: a lookup in
-- IX_Document_KeyValues. READCOMMITTEDLOCK: an older snapshot would not see a document that another session has made of the row meanwhile.
CREATE FUNCTION dms.tracked_document (@resource_key_id smallint, @key nvarchar(max), @hash nvarchar(max)) RETURNS nvarchar(max)
AS
BEGIN
    RETURN CONCAT(N'(SELECT TOP (1) f.DocumentId FROM dms.Document AS f WITH (READCOMMITTEDLOCK) WHERE f.ResourceKeyId = ', @resource_key_id,
                  N' AND f.KeyValuesHash = ', @hash, N' AND f.KeyValues = ', @key, N' ORDER BY f.DocumentId)');
END;
-- drop: DROP FUNCTION dms.tracked_document;
