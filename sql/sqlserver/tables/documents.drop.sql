-- sql/sqlserver/tables/documents.drop.sql: removes the document tables if they hold no document, and the sequence if it gave no stamp.
-- Documents are their owner's, and the sequence is what every consumer's checkpoint is measured by, also where all documents were
-- deleted: what stays is taken up by a later upgrade. The sequence tells by its next value, which is lost, or gone with it.
IF EXISTS (SELECT * FROM dms.Document WITH (TABLOCKX, HOLDLOCK))
    PRINT N'dms.Document holds documents: it stays, with its resources, bodies, edges and the sequence';
ELSE
BEGIN
    DROP TABLE dms.ReferenceEdge;
    DROP TABLE dms.DocumentCache;
    DROP TABLE dms.Document;
    DROP TABLE dms.ResourceKey;
    DECLARE @next bigint;
    EXEC sys.sp_executesql N'SET @next = NEXT VALUE FOR dms.ChangeVersionSequence;', N'@next bigint OUTPUT', @next OUTPUT;
    IF @next = 1
        DROP SEQUENCE dms.ChangeVersionSequence;
    ELSE
        PRINT N'dms.ChangeVersionSequence has given stamps: it stays, so that none is given again';
END;
