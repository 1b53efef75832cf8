-- sql/sqlserver/queries/read/find_by_uuid.sql: the document with a uuid, if it is of the resource. Binds: resource_key_id, document_uuid.
DECLARE @resource_key_id smallint = :resource_key_id, @document_uuid uniqueidentifier = :document_uuid;
SELECT DocumentId AS document_id FROM dms.Document WHERE DocumentUuid = @document_uuid AND ResourceKeyId = @resource_key_id;
