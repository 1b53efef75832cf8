-- sql/postgres/queries/operate/remove_dangling_edges.sql: removes edges whose parent or child is gone; a parent that lives is stamped by trigger.
-- Binds: rows (JSON array of {parent_id, child_id}).
DELETE FROM dms.ReferenceEdge AS e
USING jsonb_to_recordset(CAST(:rows AS jsonb)) AS wanted (parent_id bigint, child_id bigint)
WHERE e.ParentDocumentId = wanted.parent_id AND e.ChildDocumentId = wanted.child_id
  AND (NOT EXISTS (SELECT FROM dms.Document AS p WHERE p.DocumentId = e.ParentDocumentId)
       OR NOT EXISTS (SELECT FROM dms.Document AS c WHERE c.DocumentId = e.ChildDocumentId))
