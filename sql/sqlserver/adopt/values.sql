-- sql/sqlserver/adopt/values.sql: until the columns take no null, a program may write one where it has no version yet. From then on it
-- must leave the column out, or write 0: a null is refused before any trigger sees it.
-- Fires: after insert and update on dms.Document, once a statement.
CREATE TRIGGER dms.TR_Document_Adoption ON dms.Document AFTER INSERT, UPDATE
AS
BEGIN
    IF NOT EXISTS (
        SELECT * FROM inserted
        WHERE ContentVersion IS NULL OR IdentityVersion IS NULL OR ContentLastModifiedAt IS NULL OR IdentityLastModifiedAt IS NULL
           OR CreatedAt IS NULL)
        RETURN;
    SET NOCOUNT ON;
    SET ROWCOUNT 0;  -- the caller's; it is the caller's again on return
    UPDATE document
    SET ContentVersion = COALESCE(document.ContentVersion, 0), IdentityVersion = COALESCE(document.IdentityVersion, 0),
        ContentLastModifiedAt = COALESCE(document.ContentLastModifiedAt, SYSUTCDATETIME()),
        IdentityLastModifiedAt = COALESCE(document.IdentityLastModifiedAt, SYSUTCDATETIME()),
        CreatedAt = COALESCE(document.CreatedAt, SYSUTCDATETIME())
    FROM inserted AS new INNER JOIN dms.Document AS document ON document.DocumentId = new.DocumentId
    OPTION (LOOP JOIN, FORCE ORDER);
END;
