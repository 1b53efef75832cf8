-- sql/sqlserver/triggers/reference_edge_stamped_parents.v1.sql: option max_dep_identity_version: an edge that comes raises its parent where the
-- child is newer than the parent's own stamps, and holds a shared lock on the child until its transaction ends (REPEATABLEREAD): a rename
-- that has not been committed is waited for, and a later one waits, and then finds the edge.
-- Fires: after insert and update on dms.ReferenceEdge, once a statement.
CREATE TRIGGER dms.TR_ReferenceEdge_StampedParents ON dms.ReferenceEdge AFTER INSERT, UPDATE
AS
BEGIN
    IF NOT EXISTS (SELECT * FROM inserted)
        RETURN;
    SET NOCOUNT ON;
    SET ROWCOUNT 0;  -- the caller's; it is the caller's again on return
    DECLARE @child TABLE (DocumentId bigint NOT NULL PRIMARY KEY);
    DECLARE @parent TABLE (DocumentId bigint NOT NULL PRIMARY KEY, Newest bigint NOT NULL);
    INSERT INTO @child (DocumentId)
    SELECT DISTINCT added.ChildDocumentId
    FROM (SELECT ParentDocumentId, ChildDocumentId FROM inserted EXCEPT SELECT ParentDocumentId, ChildDocumentId FROM deleted) AS added
    WHERE added.ParentDocumentId <> added.ChildDocumentId;
    INSERT INTO @parent (DocumentId, Newest)
    SELECT added.ParentDocumentId, MAX(child.IdentityVersion)
    FROM @child AS listed
    INNER JOIN dms.Document AS child WITH (REPEATABLEREAD, ROWLOCK) ON child.DocumentId = listed.DocumentId
    INNER JOIN inserted AS added ON added.ChildDocumentId = listed.DocumentId
    GROUP BY added.ParentDocumentId
    OPTION (FORCE ORDER);
    UPDATE parent SET MaxDepIdentityVersion = listed.Newest
    FROM @parent AS listed INNER JOIN dms.Document AS parent ON parent.DocumentId = listed.DocumentId
    WHERE parent.MaxDepIdentityVersion < listed.Newest AND parent.ContentVersion < listed.Newest AND parent.IdentityVersion < listed.Newest
    OPTION (LOOP JOIN, FORCE ORDER);
END;
-- drop: DROP TRIGGER dms.TR_ReferenceEdge_StampedParents;
