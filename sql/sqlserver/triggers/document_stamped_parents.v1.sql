-- sql/sqlserver/triggers/document_stamped_parents.v1.sql: option max_dep_identity_version: an identity change raises the parents to its stamp.
-- That is no change of theirs: TR_Document_Stamp draws nothing for it. A changed MaxDepIdentityVersion is a signal to work it out, whatever
-- value a caller writes; it only rises.
-- Fires: after insert and update on dms.Document, once a statement, also for what TR_Document_Stamp writes. Whichever trigger is first: a stamp
-- is believed where the journal has it.
-- The parents are locked in ascending DocumentId, all at once, before the edges are read again: one may have gone before the lock was there.
-- READCOMMITTEDLOCK: with a snapshot an edge could be missed that was committed meanwhile. Whoever adds an edge holds a shared lock on the
-- child to the end of its transaction (reference_edge_stamped_parents.v1.sql), which this rename has waited for.
CREATE TRIGGER dms.TR_Document_StampedParents ON dms.Document AFTER INSERT, UPDATE
AS
BEGIN
    IF NOT EXISTS (SELECT * FROM inserted)
        RETURN;
    SET NOCOUNT ON;
    SET ROWCOUNT 0;  -- the caller's; it is the caller's again on return
    DECLARE @locked bigint;
    DECLARE @signalled TABLE (DocumentId bigint NOT NULL PRIMARY KEY, OldVersion bigint NOT NULL);
    DECLARE @child TABLE (DocumentId bigint NOT NULL PRIMARY KEY);
    DECLARE @parent TABLE (DocumentId bigint NOT NULL PRIMARY KEY);

    IF TRIGGER_NESTLEVEL() = 1 AND UPDATE(MaxDepIdentityVersion)
    BEGIN
        INSERT INTO @signalled (DocumentId, OldVersion)
        SELECT new.DocumentId, COALESCE(old.MaxDepIdentityVersion, 0)
        FROM inserted AS new LEFT JOIN deleted AS old ON old.DocumentId = new.DocumentId
        WHERE new.MaxDepIdentityVersion <> COALESCE(old.MaxDepIdentityVersion, 0)
        OPTION (HASH JOIN);  -- as in document_stamp.v1.sql
        UPDATE document
        SET MaxDepIdentityVersion = CASE WHEN newest.version > signalled.OldVersion THEN newest.version ELSE signalled.OldVersion END
        FROM @signalled AS signalled
        INNER JOIN dms.Document AS document ON document.DocumentId = signalled.DocumentId
        OUTER APPLY (
            SELECT MAX(child.IdentityVersion) AS version
            FROM dms.ReferenceEdge AS edge WITH (READCOMMITTEDLOCK)
            INNER JOIN dms.Document AS child WITH (READCOMMITTEDLOCK) ON child.DocumentId = edge.ChildDocumentId
            WHERE edge.ParentDocumentId = signalled.DocumentId AND edge.ChildDocumentId <> signalled.DocumentId
        ) AS newest
        OPTION (LOOP JOIN, FORCE ORDER);
    END;
    IF NOT EXISTS (SELECT * FROM deleted) OR NOT (UPDATE(IdentityVersion) OR UPDATE(KeyValues))
        RETURN;

    INSERT INTO @child (DocumentId)
    SELECT changed.DocumentId
    FROM (
        SELECT new.DocumentId FROM inserted AS new INNER JOIN deleted AS old ON old.DocumentId = new.DocumentId
        WHERE new.IdentityVersion <> old.IdentityVersion OR new.KeyValues <> old.KeyValues
           OR (new.KeyValues IS NULL AND old.KeyValues IS NOT NULL) OR (new.KeyValues IS NOT NULL AND old.KeyValues IS NULL)
    ) AS changed
    OPTION (HASH JOIN);
    DELETE child
    FROM @child AS child
    WHERE NOT EXISTS (
        SELECT * FROM dms.Document AS document
        INNER JOIN dms.IdentityChangeEvent AS event ON event.ChangeVersion = document.IdentityVersion AND event.DocumentId = document.DocumentId
        WHERE document.DocumentId = child.DocumentId)
    OPTION (LOOP JOIN, FORCE ORDER);
    IF NOT EXISTS (SELECT * FROM @child)
        RETURN;

    INSERT INTO @parent (DocumentId)
    SELECT DISTINCT parent.DocumentId
    FROM @child AS listed
    INNER JOIN dms.Document AS child ON child.DocumentId = listed.DocumentId
    INNER JOIN dms.ReferenceEdge AS edge WITH (READCOMMITTEDLOCK) ON edge.ChildDocumentId = listed.DocumentId
    INNER JOIN dms.Document AS parent ON parent.DocumentId = edge.ParentDocumentId
    WHERE parent.ContentVersion < child.IdentityVersion AND parent.IdentityVersion < child.IdentityVersion
      AND parent.MaxDepIdentityVersion < child.IdentityVersion
    OPTION (LOOP JOIN, FORCE ORDER);
    IF NOT EXISTS (SELECT * FROM @parent)
        RETURN;
    SELECT @locked = COUNT_BIG(*)
    FROM (  -- in the order of the ids, which a count alone does not promise: two that locked in different orders would meet in a deadlock
        SELECT TOP (2147483647) parent.DocumentId
        FROM @parent AS listed INNER JOIN dms.Document AS parent WITH (UPDLOCK, ROWLOCK) ON parent.DocumentId = listed.DocumentId
        ORDER BY listed.DocumentId
    ) AS ordered
    OPTION (LOOP JOIN, FORCE ORDER);
    UPDATE parent SET MaxDepIdentityVersion = newest.version
    FROM @parent AS listed
    INNER JOIN dms.Document AS parent ON parent.DocumentId = listed.DocumentId
    CROSS APPLY (
        SELECT MAX(child.IdentityVersion) AS version
        FROM @child AS renamed
        INNER JOIN dms.ReferenceEdge AS edge WITH (READCOMMITTEDLOCK)
            ON edge.ParentDocumentId = listed.DocumentId AND edge.ChildDocumentId = renamed.DocumentId
        INNER JOIN dms.Document AS child ON child.DocumentId = renamed.DocumentId
    ) AS newest
    WHERE parent.MaxDepIdentityVersion < newest.version
    OPTION (LOOP JOIN, FORCE ORDER);
END;
-- drop: DROP TRIGGER dms.TR_Document_StampedParents;
