-- sql/sqlserver/queries/write/commit_mark.sql: what a transaction is known by afterwards, last of all in it: commit_state asks for it.
-- Gives: mark: the version, document and transaction of an event of it; null where it has none, or the user may not read the journals.
-- enter_change.v1.sql leaves "<transaction>:<floor>" in the session context. A value that is forged or of another transaction finds an event of
-- another transaction or none, and both engines' caller then gives up rather than write twice.
-- Plan: a range of two primary keys, above the transaction's floor.
SET NOCOUNT ON;
DECLARE @entered nvarchar(64) = TRY_CAST(SESSION_CONTEXT(N'dms.entered_at') AS nvarchar(64)), @mark nvarchar(64) = NULL;
DECLARE @transaction_id bigint = TRY_CAST(LEFT(@entered, NULLIF(CHARINDEX(N':', @entered), 0) - 1) AS bigint);
DECLARE @floor bigint = TRY_CAST(SUBSTRING(@entered, CHARINDEX(N':', @entered) + 1, 20) AS bigint);
IF HAS_PERMS_BY_NAME(N'dms.DocumentChangeEvent', N'OBJECT', N'SELECT') = 1
    SELECT TOP (1) @mark = CAST(either.ChangeVersion AS nvarchar(20)) + N' ' + CAST(either.DocumentId AS nvarchar(20))
        + N' ' + CAST(@transaction_id AS nvarchar(20))
    FROM (
        SELECT changed.ChangeVersion, changed.DocumentId
        FROM (SELECT TOP (1) ChangeVersion, DocumentId FROM dms.DocumentChangeEvent
              WHERE ChangeVersion > @floor AND TransactionId = @transaction_id ORDER BY ChangeVersion) AS changed
        UNION ALL
        SELECT deleted.ChangeVersion, deleted.DocumentId
        FROM (SELECT TOP (1) ChangeVersion, DocumentId FROM dms.DocumentDeleteEvent
              WHERE ChangeVersion > @floor AND TransactionId = @transaction_id ORDER BY ChangeVersion) AS deleted
    ) AS either
    ORDER BY either.ChangeVersion;
SELECT @mark AS mark;
