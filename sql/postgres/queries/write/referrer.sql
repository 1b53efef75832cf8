-- sql/postgres/queries/write/referrer.sql: one document that refers to a document, itself excepted. Binds: document_id.
SELECT parent.DocumentId AS document_id, parent.KeyValues AS key_values,
       resource.ProjectName AS project_name, resource.ResourceName AS resource_name, resource.ResourceVersion AS resource_version
FROM (SELECT ParentDocumentId FROM dms.ReferenceEdge
      WHERE ChildDocumentId = CAST(:document_id AS bigint) AND ParentDocumentId <> ChildDocumentId LIMIT 1) AS edge
JOIN dms.Document AS parent ON parent.DocumentId = edge.ParentDocumentId
JOIN dms.ResourceKey AS resource ON resource.ResourceKeyId = parent.ResourceKeyId
