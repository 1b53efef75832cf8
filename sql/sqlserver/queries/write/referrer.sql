-- sql/sqlserver/queries/write/referrer.sql: one document that refers to a document, itself excepted. Binds: document_id.
DECLARE @document_id bigint = :document_id;
SELECT parent.DocumentId AS document_id, parent.KeyValues AS key_values,
       resource.ProjectName AS project_name, resource.ResourceName AS resource_name, resource.ResourceVersion AS resource_version
FROM (SELECT TOP (1) ParentDocumentId FROM dms.ReferenceEdge
      WHERE ChildDocumentId = @document_id AND ParentDocumentId <> ChildDocumentId) AS edge
INNER JOIN dms.Document AS parent ON parent.DocumentId = edge.ParentDocumentId
INNER JOIN dms.ResourceKey AS resource ON resource.ResourceKeyId = parent.ResourceKeyId;
