-- sql/sqlserver/triggers/reference_edge.v1.sql: an edge that comes, goes or is re-pointed changes its parent, so the parent is stamped
-- (invariant 3), unless this transaction stamped it already and above the identity stamps of the children involved. It did if the stamp
-- is above its floor (transaction ids come again after a restart), which its own lock proves (remembered_floor.v1.sql), and the journal
-- says so. Keeps ParentResourceKeyId and dms.ResourceDependency on the way.
-- Fires: after insert, update and delete on dms.ReferenceEdge, once a statement; a cascade from dms.Document among them.
-- Plans: as in document_stamp.v1.sql. A child or parent that the statement deleted is not there: whatever the child's stamps were, the
-- parent's is newer.
CREATE TRIGGER dms.TR_ReferenceEdge_Stamp ON dms.ReferenceEdge AFTER INSERT, UPDATE, DELETE
AS
BEGIN
    IF NOT EXISTS (SELECT * FROM inserted) AND NOT EXISTS (SELECT * FROM deleted)
        RETURN;
    SET NOCOUNT ON;
    SET ROWCOUNT 0;  -- the caller's, of which the sequence wants none; it is the caller's again on return
    DECLARE @transaction_id bigint, @floor bigint;
    DECLARE @changed TABLE (
        ParentDocumentId bigint NOT NULL,
        ChildDocumentId  bigint NOT NULL,
        IsAdded          bit    NOT NULL,
        PRIMARY KEY (ParentDocumentId, ChildDocumentId)
    );
    DECLARE @pair TABLE (ParentResourceKeyId smallint NOT NULL, ChildResourceKeyId smallint NOT NULL);
    DECLARE @parents TABLE (DocumentId bigint NOT NULL PRIMARY KEY);

    IF EXISTS (SELECT * FROM inserted)
        UPDATE edge SET ParentResourceKeyId = parent.ResourceKeyId
        FROM inserted AS new
        INNER JOIN dms.ReferenceEdge AS edge ON edge.ParentDocumentId = new.ParentDocumentId AND edge.ChildDocumentId = new.ChildDocumentId
        INNER JOIN dms.Document AS parent ON parent.DocumentId = new.ParentDocumentId
        WHERE edge.ParentResourceKeyId <> parent.ResourceKeyId
        OPTION (LOOP JOIN, FORCE ORDER);

    IF EXISTS (SELECT * FROM inserted) AND NOT EXISTS (SELECT * FROM deleted)
        UPDATE edge SET CreatedAt = SYSUTCDATETIME()  -- the database's own; the default's, of a moment ago, is one already
        FROM inserted AS new
        INNER JOIN dms.ReferenceEdge AS edge ON edge.ParentDocumentId = new.ParentDocumentId AND edge.ChildDocumentId = new.ChildDocumentId
        WHERE new.CreatedAt > SYSUTCDATETIME() OR new.CreatedAt < DATEADD(minute, -1, SYSUTCDATETIME())
        OPTION (LOOP JOIN, FORCE ORDER);

    INSERT INTO @changed (ParentDocumentId, ChildDocumentId, IsAdded)
    SELECT ParentDocumentId, ChildDocumentId, 1
    FROM (SELECT ParentDocumentId, ChildDocumentId FROM inserted EXCEPT SELECT ParentDocumentId, ChildDocumentId FROM deleted) AS added;
    INSERT INTO @changed (ParentDocumentId, ChildDocumentId, IsAdded)
    SELECT ParentDocumentId, ChildDocumentId, 0
    FROM (SELECT ParentDocumentId, ChildDocumentId FROM deleted EXCEPT SELECT ParentDocumentId, ChildDocumentId FROM inserted) AS removed;
    IF NOT EXISTS (SELECT * FROM @changed)
        RETURN;  -- both ends as they were

    INSERT INTO @pair (ParentResourceKeyId, ChildResourceKeyId)
    SELECT DISTINCT parent.ResourceKeyId, child.ResourceKeyId
    FROM @changed AS changed
    INNER JOIN dms.Document AS parent ON parent.DocumentId = changed.ParentDocumentId
    INNER JOIN dms.Document AS child ON child.DocumentId = changed.ChildDocumentId
    WHERE changed.IsAdded = 1 AND NOT EXISTS (
        SELECT * FROM dms.ResourceDependency AS known
        WHERE known.ParentResourceKeyId = parent.ResourceKeyId AND known.ChildResourceKeyId = child.ResourceKeyId)
    OPTION (LOOP JOIN, FORCE ORDER);
    IF EXISTS (SELECT * FROM @pair)  -- looked for again under a lock: another session may be adding the same pair; most have been seen
        INSERT INTO dms.ResourceDependency (ParentResourceKeyId, ChildResourceKeyId)
        SELECT ParentResourceKeyId, ChildResourceKeyId FROM @pair AS pair
        WHERE NOT EXISTS (
            SELECT * FROM dms.ResourceDependency AS known WITH (UPDLOCK, HOLDLOCK)
            WHERE known.ParentResourceKeyId = pair.ParentResourceKeyId AND known.ChildResourceKeyId = pair.ChildResourceKeyId);

    EXEC dms.this_transaction @transaction_id OUTPUT;
    EXEC dms.remembered_floor @transaction_id, @floor OUTPUT;
    INSERT INTO @parents (DocumentId)
    SELECT parent.DocumentId
    FROM (
        SELECT changed.ParentDocumentId, MAX(COALESCE(child.IdentityVersion, CAST(9223372036854775807 AS bigint))) AS newest_child
        FROM @changed AS changed LEFT JOIN dms.Document AS child ON child.DocumentId = changed.ChildDocumentId
        GROUP BY changed.ParentDocumentId
    ) AS touched
    INNER JOIN dms.Document AS parent ON parent.DocumentId = touched.ParentDocumentId
    CROSS APPLY (
        SELECT CASE WHEN parent.ContentVersion > parent.IdentityVersion THEN parent.ContentVersion ELSE parent.IdentityVersion END AS version
    ) AS local
    WHERE @floor IS NULL OR local.version <= @floor OR local.version < touched.newest_child OR NOT EXISTS (
        SELECT * FROM dms.DocumentChangeEvent AS event
        WHERE event.ChangeVersion = local.version AND event.DocumentId = parent.DocumentId AND event.TransactionId = @transaction_id)
    OPTION (LOOP JOIN, FORCE ORDER);
    IF NOT EXISTS (SELECT * FROM @parents)
        RETURN;

    UPDATE parent SET ContentVersion = -1  -- a signal: TR_Document_Stamp draws the stamp
    FROM @parents AS touched INNER JOIN dms.Document AS parent ON parent.DocumentId = touched.DocumentId
    OPTION (LOOP JOIN, FORCE ORDER);
    IF EXISTS (
        SELECT * FROM @parents AS touched INNER JOIN dms.Document AS parent ON parent.DocumentId = touched.DocumentId
        WHERE parent.ContentVersion = -1)
        THROW 50008, N'TR_Document_Stamp did not fire: the server option "nested triggers" is off, or the trigger is disabled. Switch it on.', 1;
END;
-- drop: DROP TRIGGER dms.TR_ReferenceEdge_Stamp;
