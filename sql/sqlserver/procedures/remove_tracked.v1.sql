-- sql/sqlserver/procedures/remove_tracked.v1.sql: removes documents of tracked rows that are gone, by their ids (a JSON array). The edges that point to them go first:
-- what refers to them has changed, or goes in a moment. All are read as they are now (READCOMMITTEDLOCK): a fill may have made them after the snapshot of the writer.
CREATE PROCEDURE dms.remove_tracked @documents nvarchar(max)
AS
BEGIN
    SET NOCOUNT ON;
    SET ROWCOUNT 0;  -- the caller's; it is the caller's again on return
    DECLARE @gone TABLE (DocumentId bigint NOT NULL PRIMARY KEY);
    INSERT INTO @gone (DocumentId) SELECT DISTINCT CAST(value AS bigint) FROM OPENJSON(@documents);
    DELETE edge
    FROM @gone AS gone INNER JOIN dms.ReferenceEdge AS edge WITH (READCOMMITTEDLOCK) ON edge.ChildDocumentId = gone.DocumentId
    OPTION (LOOP JOIN, FORCE ORDER);
    DELETE document
    FROM @gone AS gone INNER JOIN dms.Document AS document WITH (READCOMMITTEDLOCK) ON document.DocumentId = gone.DocumentId
    OPTION (LOOP JOIN, FORCE ORDER);
    DELETE late FROM dms.TrackedLate AS late WITH (READCOMMITTEDLOCK) WHERE late.DocumentId IN (SELECT gone.DocumentId FROM @gone AS gone);
END;
-- drop: DROP PROCEDURE dms.remove_tracked;
