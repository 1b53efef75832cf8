-- sql/postgres/tables/documents.drop.sql: removes the document tables if they hold no document, and the sequence if it gave no stamp.
-- Documents are their owner's, and the sequence is what every consumer's checkpoint is measured by, also where all documents were
-- deleted: what stays is taken up by a later upgrade.
DO $$
BEGIN
    LOCK TABLE dms.Document IN ACCESS EXCLUSIVE MODE;
    IF EXISTS (SELECT FROM dms.Document) THEN
        RAISE NOTICE 'dms.Document holds documents: it stays, with its resources, bodies, edges and the sequence';
        RETURN;
    END IF;
    DROP TABLE dms.ReferenceEdge, dms.DocumentCache, dms.Document, dms.ResourceKey;
    IF NOT (SELECT is_called FROM dms.ChangeVersionSequence) THEN
        DROP SEQUENCE dms.ChangeVersionSequence;
    ELSE
        RAISE NOTICE 'dms.ChangeVersionSequence has given stamps: it stays, so that none is given again';
    END IF;
END $$;
