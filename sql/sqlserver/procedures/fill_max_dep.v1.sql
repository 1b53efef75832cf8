-- sql/sqlserver/procedures/fill_max_dep.v1.sql: option max_dep_identity_version: fills MaxDepIdentityVersion of the next documents, in ascending
-- DocumentId; gives how many it looked at, 0 when all are filled. Call it in a transaction of its own until it gives 0. Who renames a child
-- meanwhile raises it. Two that fill at once: the second waits for the first's batch.
CREATE PROCEDURE dms.fill_max_dep @batch_size int, @looked_at bigint OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET ROWCOUNT 0;  -- the caller's; it is the caller's again on return
    DECLARE @filled bigint, @last bigint;
    DECLARE @listed TABLE (DocumentId bigint NOT NULL PRIMARY KEY, Version bigint NOT NULL);
    SET @looked_at = 0;
    SELECT @filled = DocumentId FROM dms.MaxDepIdentityPending WITH (UPDLOCK, HOLDLOCK) WHERE IsFill = 1;
    IF @filled IS NULL
        RETURN;
    INSERT INTO @listed (DocumentId, Version)
    SELECT TOP (@batch_size) DocumentId,
           CASE WHEN ContentVersion > IdentityVersion THEN ContentVersion ELSE IdentityVersion END
    FROM dms.Document WHERE DocumentId > @filled ORDER BY DocumentId;
    SET @looked_at = @@ROWCOUNT;
    IF @looked_at = 0
    BEGIN
        DELETE FROM dms.MaxDepIdentityPending WHERE IsFill = 1;
        RETURN;
    END;
    SELECT @last = MAX(DocumentId) FROM @listed;
    UPDATE document SET MaxDepIdentityVersion = -1  -- a signal: TR_Document_StampedParents works it out under the lock
    FROM @listed AS listed INNER JOIN dms.Document AS document ON document.DocumentId = listed.DocumentId
    WHERE EXISTS (
        SELECT * FROM dms.ReferenceEdge AS edge INNER JOIN dms.Document AS child ON child.DocumentId = edge.ChildDocumentId
        WHERE edge.ParentDocumentId = listed.DocumentId AND edge.ChildDocumentId <> listed.DocumentId
          AND child.IdentityVersion > listed.Version)
    OPTION (LOOP JOIN, FORCE ORDER);
    UPDATE dms.MaxDepIdentityPending SET DocumentId = @last WHERE IsFill = 1;
END;
-- drop: DROP PROCEDURE dms.fill_max_dep;
