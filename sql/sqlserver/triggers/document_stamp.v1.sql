-- sql/sqlserver/triggers/document_stamp.v1.sql: the database draws every stamp itself, under the row lock (invariants 1 and 5), and journals
-- it (invariant 2): a changed ContentVersion, IdentityVersion or KeyValues is the signal that content or identity changed; the value is
-- never kept. A new document has one stamp for both, one document event and no identity event (invariant 3).
-- Fires: after insert and after update on dms.Document, once a statement.
-- Plans are kept, so only those may exist that are right for one row and for a million: inserted and deleted meet in a hash join, and
-- everything else is looked up by key, from the stamped rows outwards (LOOP JOIN, FORCE ORDER).
-- The journal comes first, the rows second: where RECURSIVE_TRIGGERS is on, the trigger's own update calls it again, and finds in the
-- journal that these rows need nothing. A flag in the session context would stay when the statement fails in between.
-- A version below 1 is no stamp: it is a signal also where it was stored while no trigger was there, and is written again.
CREATE TRIGGER dms.TR_Document_Stamp ON dms.Document AFTER INSERT, UPDATE
AS
BEGIN
    IF NOT EXISTS (SELECT * FROM inserted)
        RETURN;  -- nothing changed: no lock, no stamp (invariant 1)
    SET NOCOUNT ON;
    SET ROWCOUNT 0;  -- the caller's, of which the sequence wants none; it is the caller's again on return
    DECLARE @floor bigint, @transaction_id bigint, @now datetime2(7), @operation varchar(6) = 'insert';
    DECLARE @stamped TABLE (
        DocumentId             bigint       NOT NULL PRIMARY KEY,
        ResourceKeyId          smallint     NOT NULL,
        IsContent              bit          NOT NULL,
        IsIdentity             bit          NOT NULL,
        Written                bigint       NOT NULL,  -- what the caller wrote where a stamp belongs
        OldVersion             bigint       NOT NULL,  -- the local version before
        ContentLastModifiedAt  datetime2(7) NOT NULL,
        IdentityLastModifiedAt datetime2(7) NOT NULL,
        CreatedAt              datetime2(7) NOT NULL,
        Stamp                  bigint       NULL
    );

    IF NOT EXISTS (SELECT * FROM deleted)
        INSERT INTO @stamped
            (DocumentId, ResourceKeyId, IsContent, IsIdentity, Written, OldVersion, ContentLastModifiedAt, IdentityLastModifiedAt, CreatedAt)
        SELECT DocumentId, ResourceKeyId, 1, 1, 0, 0, ContentLastModifiedAt, IdentityLastModifiedAt, SYSUTCDATETIME()  -- the database's own
        FROM inserted;
    ELSE
    BEGIN
        SET @operation = 'update';
        IF (UPDATE(DocumentId) OR UPDATE(DocumentUuid) OR UPDATE(ResourceKeyId)) AND EXISTS (
            SELECT DocumentId, DocumentUuid, ResourceKeyId FROM inserted EXCEPT SELECT DocumentId, DocumentUuid, ResourceKeyId FROM deleted)
            THROW 50002, N'a document cannot change its DocumentId, DocumentUuid or ResourceKeyId. Delete it and insert another.', 1;
        IF TRIGGER_NESTLEVEL(@@PROCID, 'AFTER', 'DML') = 1 AND (UPDATE(CreatedAt) OR UPDATE(ContentLastModifiedAt) OR UPDATE(IdentityLastModifiedAt))
            UPDATE document  -- the database's own; where a stamp is given, its time follows below
            SET CreatedAt = old.CreatedAt, ContentLastModifiedAt = old.ContentLastModifiedAt, IdentityLastModifiedAt = old.IdentityLastModifiedAt
            FROM deleted AS old INNER JOIN dms.Document AS document ON document.DocumentId = old.DocumentId
            OPTION (LOOP JOIN, FORCE ORDER);  -- as below
        IF UPDATE(KeyValuesHash)
            UPDATE document  -- whatever was written: it is the hash of the key values
            SET KeyValuesHash = CAST(HASHBYTES('SHA2_256', document.KeyValues) AS binary(32))
            FROM deleted AS old INNER JOIN dms.Document AS document ON document.DocumentId = old.DocumentId
            WHERE document.KeyValuesHash <> CAST(HASHBYTES('SHA2_256', document.KeyValues) AS binary(32))
               OR (document.KeyValuesHash IS NULL AND document.KeyValues IS NOT NULL)
               OR (document.KeyValuesHash IS NOT NULL AND document.KeyValues IS NULL)
            OPTION (LOOP JOIN, FORCE ORDER);
        IF NOT (UPDATE(ContentVersion) OR UPDATE(IdentityVersion) OR UPDATE(KeyValues))
            RETURN;
        INSERT INTO @stamped
            (DocumentId, ResourceKeyId, IsContent, IsIdentity, Written, OldVersion, ContentLastModifiedAt, IdentityLastModifiedAt, CreatedAt)
        SELECT changed.DocumentId, changed.ResourceKeyId, changed.IsContent, changed.IsIdentity,
               CASE WHEN changed.IsContent = 0 THEN changed.IdentityVersion
                    WHEN changed.IsIdentity = 0 OR changed.IdentityVersion = changed.ContentVersion THEN changed.ContentVersion
                    ELSE -1 END,
               changed.OldVersion, changed.ContentLastModifiedAt, changed.IdentityLastModifiedAt, changed.CreatedAt
        FROM (
            SELECT new.DocumentId, new.ResourceKeyId, new.ContentVersion, new.IdentityVersion,
                   CASE WHEN new.ContentVersion <> old.ContentVersion OR new.ContentVersion < 1 THEN 1 ELSE 0 END AS IsContent,
                   CASE WHEN new.IdentityVersion <> old.IdentityVersion OR new.IdentityVersion < 1 OR new.KeyValues <> old.KeyValues
                             OR (new.KeyValues IS NULL AND old.KeyValues IS NOT NULL)
                             OR (new.KeyValues IS NOT NULL AND old.KeyValues IS NULL) THEN 1 ELSE 0 END AS IsIdentity,
                   CASE WHEN old.ContentVersion > old.IdentityVersion THEN old.ContentVersion ELSE old.IdentityVersion END AS OldVersion,
                   old.ContentLastModifiedAt, old.IdentityLastModifiedAt, old.CreatedAt
            FROM inserted AS new INNER JOIN deleted AS old ON old.DocumentId = new.DocumentId
        ) AS changed
        WHERE changed.IsContent = 1 OR changed.IsIdentity = 1
        OPTION (HASH JOIN);  -- a nested loop, kept from a statement of one row, compares each new row with all old ones
    END;

    IF TRIGGER_NESTLEVEL(@@PROCID, 'AFTER', 'DML') > 1 AND @operation = 'update'
    BEGIN
        EXEC dms.this_transaction @transaction_id OUTPUT;
        DELETE stamped  -- what this trigger wrote a moment ago: stamped and journaled, and nothing later is
        FROM @stamped AS stamped
        WHERE EXISTS (
            SELECT * FROM dms.DocumentChangeEvent AS event
            WHERE event.ChangeVersion = stamped.Written AND event.DocumentId = stamped.DocumentId
              AND event.TransactionId = @transaction_id)
          AND NOT EXISTS (
            SELECT * FROM dms.DocumentChangeEvent AS later
            WHERE later.ChangeVersion = stamped.OldVersion AND later.DocumentId = stamped.DocumentId
              AND later.ChangeVersion > stamped.Written)
        OPTION (LOOP JOIN, FORCE ORDER);
    END;
    IF NOT EXISTS (SELECT * FROM @stamped)
        RETURN;

    EXEC dms.enter_change @floor OUTPUT, @transaction_id OUTPUT;  -- the lock first, then the stamps (invariant 5)
    UPDATE @stamped SET Stamp = NEXT VALUE FOR dms.ChangeVersionSequence;
    UPDATE @stamped SET Stamp = NEXT VALUE FOR dms.ChangeVersionSequence WHERE Stamp <= @floor;  -- after a restart: newest_stamp.v1.sql
    IF EXISTS (SELECT * FROM @stamped WHERE Stamp <= @floor)
        THROW 50003, N'dms.entered_at holds a floor that no transaction can have entered at. The session context belongs to dmsjournal: roll back, and do not write it.', 1;
    SET @now = SYSUTCDATETIME();

    INSERT INTO dms.DocumentChangeEvent (ChangeVersion, DocumentId, ResourceKeyId, Operation, TransactionId, CreatedAt)
    SELECT Stamp, DocumentId, ResourceKeyId, @operation, @transaction_id, @now FROM @stamped;
    IF @operation = 'update' AND EXISTS (SELECT * FROM @stamped WHERE IsIdentity = 1)
    BEGIN
        INSERT INTO dms.IdentityChangeEvent (ChangeVersion, DocumentId, ResourceKeyId, CreatedAt)
        SELECT Stamp, DocumentId, ResourceKeyId, @now FROM @stamped WHERE IsIdentity = 1;
        IF UPDATE(KeyValues)
            INSERT INTO dms.KeyChangeEvent (ChangeVersion, DocumentId, DocumentUuid, ResourceKeyId, OldKeyValues, NewKeyValues, CreatedAt)
            SELECT stamped.Stamp, new.DocumentId, new.DocumentUuid, new.ResourceKeyId, old.KeyValues, new.KeyValues, @now
            FROM @stamped AS stamped
            INNER JOIN inserted AS new ON new.DocumentId = stamped.DocumentId
            INNER JOIN deleted AS old ON old.DocumentId = stamped.DocumentId
            WHERE new.KeyValues <> old.KeyValues OR (new.KeyValues IS NULL AND old.KeyValues IS NOT NULL)
               OR (new.KeyValues IS NOT NULL AND old.KeyValues IS NULL)
            OPTION (HASH JOIN);  -- as above
    END;

    UPDATE document
    SET ContentVersion         = CASE WHEN stamped.IsContent = 1 THEN stamped.Stamp ELSE document.ContentVersion END,
        IdentityVersion        = CASE WHEN stamped.IsIdentity = 1 THEN stamped.Stamp ELSE document.IdentityVersion END,
        ContentLastModifiedAt  = CASE WHEN stamped.IsContent = 1 THEN @now ELSE stamped.ContentLastModifiedAt END,
        IdentityLastModifiedAt = CASE WHEN stamped.IsIdentity = 1 THEN @now ELSE stamped.IdentityLastModifiedAt END,
        CreatedAt              = stamped.CreatedAt,
        KeyValuesHash          = CASE WHEN stamped.IsIdentity = 1 THEN CAST(HASHBYTES('SHA2_256', document.KeyValues) AS binary(32))
                                      ELSE document.KeyValuesHash END
    FROM @stamped AS stamped INNER JOIN dms.Document AS document ON document.DocumentId = stamped.DocumentId
    OPTION (LOOP JOIN, FORCE ORDER);  -- a scan of the documents, kept from a statement of many rows, is paid by each of one row
END;
-- drop: DROP TRIGGER dms.TR_Document_Stamp;
