-- sql/sqlserver/adopt/parents.sql: until the journal's own trigger is there (triggers/reference_edge.v1.sql), this one keeps
-- ParentResourceKeyId. Fires: after insert and update on dms.ReferenceEdge, once a statement.
CREATE TRIGGER dms.ZZ_ReferenceEdge_Adoption ON dms.ReferenceEdge AFTER INSERT, UPDATE
AS
BEGIN
    IF NOT EXISTS (SELECT * FROM inserted)
        RETURN;
    SET NOCOUNT ON;
    SET ROWCOUNT 0;  -- the caller's; it is the caller's again on return
    UPDATE edge SET ParentResourceKeyId = parent.ResourceKeyId
    FROM inserted AS new
    INNER JOIN dms.ReferenceEdge AS edge ON edge.ParentDocumentId = new.ParentDocumentId AND edge.ChildDocumentId = new.ChildDocumentId
    INNER JOIN dms.Document AS parent ON parent.DocumentId = new.ParentDocumentId
    WHERE edge.ParentResourceKeyId <> parent.ResourceKeyId
    OPTION (LOOP JOIN, FORCE ORDER);
END;
