-- sql/postgres/tables/documents.drop.sql: removes the document tables and the sequence, if they hold no document.
-- Documents are their owner's and the sequence is what their stamps and every consumer's checkpoint are measured by: where there
-- are documents, both stay, and a later upgrade takes them up again.
DO $$
BEGIN
    LOCK TABLE dms.Document IN ACCESS EXCLUSIVE MODE;
    IF EXISTS (SELECT FROM dms.Document) THEN
        RAISE NOTICE 'dms.Document holds documents: it stays, with its resources, bodies, edges and the sequence';
    ELSE
        DROP TABLE dms.ReferenceEdge, dms.DocumentCache, dms.Document, dms.ResourceKey;
        DROP SEQUENCE dms.ChangeVersionSequence;
    END IF;
END $$;
