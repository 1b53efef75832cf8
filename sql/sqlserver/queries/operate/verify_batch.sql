-- sql/sqlserver/queries/operate/verify_batch.sql: where the next batch of a walk ends, so that no statement of verify looks at all of a table.
-- Binds: walk (documents, edges, events, tombstones, key_changes); after (exclusive); size (rows, 1 or more).
-- Gives: last (inclusive; null where nothing is left) and rows. The walks go by DocumentId, ParentDocumentId and ChangeVersion.
-- Plan:  a range of one primary key; the other branches are never begun.
SET NOCOUNT ON;
DECLARE @walk nvarchar(16) = :walk, @after bigint = :after, @size bigint = :size, @last bigint, @rows bigint;
IF @walk = N'documents'
    SELECT @last = MAX(batch.place), @rows = COUNT_BIG(*)
    FROM (SELECT TOP (@size) DocumentId AS place FROM dms.Document WHERE DocumentId > @after ORDER BY DocumentId) AS batch;
IF @walk = N'edges'
    SELECT @last = MAX(batch.place), @rows = COUNT_BIG(*)
    FROM (
        SELECT TOP (@size) ParentDocumentId AS place FROM dms.ReferenceEdge WHERE ParentDocumentId > @after ORDER BY ParentDocumentId
    ) AS batch;
IF @walk = N'events'
    SELECT @last = MAX(batch.place), @rows = COUNT_BIG(*)
    FROM (
        SELECT TOP (@size) ChangeVersion AS place FROM dms.DocumentChangeEvent WHERE ChangeVersion > @after ORDER BY ChangeVersion
    ) AS batch;
IF @walk = N'tombstones'
    SELECT @last = MAX(batch.place), @rows = COUNT_BIG(*)
    FROM (
        SELECT TOP (@size) ChangeVersion AS place FROM dms.DocumentDeleteEvent WHERE ChangeVersion > @after ORDER BY ChangeVersion
    ) AS batch;
IF @walk = N'key_changes'
    SELECT @last = MAX(batch.place), @rows = COUNT_BIG(*)
    FROM (SELECT TOP (@size) ChangeVersion AS place FROM dms.KeyChangeEvent WHERE ChangeVersion > @after ORDER BY ChangeVersion) AS batch;
SELECT @last AS last, @rows AS rows;
