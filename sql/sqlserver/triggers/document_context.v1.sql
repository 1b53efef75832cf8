-- sql/sqlserver/triggers/document_context.v1.sql: option context: keeps what the session says for what this transaction stamps: what
-- dms.set_context said in this transaction, else what stands under dmsjournal.context, which is the session's until it is set anew.
-- Fires: after insert, update and delete on dms.Document, once a statement, also for what TR_Document_Stamp writes. Whichever trigger is
-- first, the last one of them sees every stamp of the statement (document_delete_first.v1.sql): ThroughVersion is the sequence's value then.
-- A row of this transaction is told by its lower end: what an earlier one with the same id has begun lies below this one's floor.
-- Whatever the session holds, the user's write goes on: what is no JSON object, or longer than 3,900 characters, is kept as its first 200
-- characters under "unreadable".
CREATE TRIGGER dms.TR_Document_TellContext ON dms.Document AFTER INSERT, UPDATE, DELETE
AS
BEGIN
    DECLARE @context nvarchar(4000) = TRY_CAST(SESSION_CONTEXT(N'dmsjournal.context') AS nvarchar(4000)),
            @bound nvarchar(4000) = TRY_CAST(SESSION_CONTEXT(N'dmsjournal.transaction_context') AS nvarchar(4000));
    IF COALESCE(@context, N'') = N'' AND @bound IS NULL
        RETURN;
    SET NOCOUNT ON;
    SET ROWCOUNT 0;  -- the caller's; it is the caller's again on return
    DECLARE @floor bigint, @transaction_id bigint, @newest bigint, @prefix nvarchar(32), @known nvarchar(4000), @after bigint, @through bigint;
    EXEC dms.this_transaction @transaction_id OUTPUT;
    EXEC dms.remembered_floor @transaction_id, @floor OUTPUT;
    SET @prefix = CAST(@transaction_id AS nvarchar(20)) + N':';
    IF LEFT(@bound, LEN(@prefix)) = @prefix
        SET @context = SUBSTRING(@bound, LEN(@prefix) + 1, 4000);
    IF COALESCE(@context, N'') = N'' OR @floor IS NULL
        RETURN;
    IF LEN(@context) > 3900 OR ISJSON(@context) = 0 OR LEFT(LTRIM(@context), 1) <> N'{'
        SET @context = N'{"unreadable":"' + STRING_ESCAPE(LEFT(@context, 200), 'json') + N'"}';

    SELECT TOP (1) @known = Context, @after = AfterVersion, @through = ThroughVersion
    FROM dms.ChangeContext
    WHERE TransactionId = @transaction_id AND AfterVersion >= @floor
    ORDER BY AfterVersion DESC;
    EXEC dms.newest_stamp @newest OUTPUT;
    IF @known COLLATE Latin1_General_100_BIN2 = @context COLLATE Latin1_General_100_BIN2
        UPDATE dms.ChangeContext SET ThroughVersion = @newest
        WHERE TransactionId = @transaction_id AND AfterVersion = @after AND ThroughVersion < @newest;
    ELSE IF @newest > COALESCE(@through, @floor)
        INSERT INTO dms.ChangeContext (TransactionId, AfterVersion, ThroughVersion, CreatedAt, Context)
        VALUES (@transaction_id, COALESCE(@through, @floor), @newest, SYSUTCDATETIME(), @context);
END;
-- drop: DROP TRIGGER dms.TR_Document_TellContext;
