-- sql/sqlserver/queries/write/identity_closure.sql: the documents whose identity contains that of a document, at any distance: the edges
-- between them. Binds: document_id. Gives: parent_id, child_id; each edge once, also where references form a cycle, which a recursive
-- query would follow for ever: hence the loop.
SET NOCOUNT ON;
DECLARE @document_id bigint = :document_id, @found bigint;
DECLARE @closure TABLE (parent_id bigint NOT NULL, child_id bigint NOT NULL, depth int NOT NULL, PRIMARY KEY (parent_id, child_id));
DECLARE @depth int = 0;
INSERT INTO @closure (parent_id, child_id, depth)
SELECT ParentDocumentId, ChildDocumentId, 0 FROM dms.ReferenceEdge
WHERE ChildDocumentId = @document_id AND IsIdentityComponent = 1 AND ParentDocumentId <> ChildDocumentId;
SET @found = @@ROWCOUNT;
WHILE @found > 0
BEGIN
    INSERT INTO @closure (parent_id, child_id, depth)
    SELECT DISTINCT edge.ParentDocumentId, edge.ChildDocumentId, @depth + 1
    FROM @closure AS reached
    INNER JOIN dms.ReferenceEdge AS edge ON edge.ChildDocumentId = reached.parent_id
    WHERE reached.depth = @depth AND edge.IsIdentityComponent = 1 AND edge.ParentDocumentId <> edge.ChildDocumentId
      AND NOT EXISTS (SELECT * FROM @closure AS known WHERE known.parent_id = edge.ParentDocumentId AND known.child_id = edge.ChildDocumentId)
    OPTION (LOOP JOIN, FORCE ORDER);  -- a scan of all edges, else, at each step
    SET @found = @@ROWCOUNT;
    SET @depth = @depth + 1;
END;
SELECT parent_id, child_id FROM @closure ORDER BY parent_id, child_id;
