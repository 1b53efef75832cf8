-- sql/sqlserver/queries/write/commit_state.sql: what became of a transaction whose COMMIT was not answered.
-- Binds: mark (commit_mark).
-- Gives: state: committed or aborted; null where the event may have been pruned since. It waits for the transaction's end: an event that is not
-- committed yet is locked, and READCOMMITTEDLOCK heeds that whatever the database's option for row versions says.
-- Plan: a lookup in each of two primary keys. The floors are read after the events: see deletes.sql.
SET NOCOUNT ON;
DECLARE @mark nvarchar(64) = :mark, @state nvarchar(20) = NULL;
DECLARE @first int = CHARINDEX(N' ', @mark);
DECLARE @second int = CHARINDEX(N' ', @mark, @first + 1);
DECLARE @version bigint = CAST(LEFT(@mark, @first - 1) AS bigint);
DECLARE @document_id bigint = CAST(SUBSTRING(@mark, @first + 1, @second - @first - 1) AS bigint);
DECLARE @transaction_id bigint = CAST(SUBSTRING(@mark, @second + 1, 20) AS bigint);
IF EXISTS (SELECT * FROM dms.DocumentChangeEvent WITH (READCOMMITTEDLOCK)
           WHERE ChangeVersion = @version AND DocumentId = @document_id AND TransactionId = @transaction_id)
   OR EXISTS (SELECT * FROM dms.DocumentDeleteEvent WITH (READCOMMITTEDLOCK)
              WHERE ChangeVersion = @version AND DocumentId = @document_id AND TransactionId = @transaction_id)
    SET @state = N'committed';
ELSE IF NOT EXISTS (SELECT * FROM dms.JournalFloor
                    WHERE Journal IN (N'DocumentChangeEvent', N'DocumentDeleteEvent') AND ChangeVersion >= @version)
    SET @state = N'aborted';
SELECT @state AS state;
