-- sql/sqlserver/queries/schema/fill_max_dep.sql: fills MaxDepIdentityVersion of the next documents; in a transaction of its own.
-- Binds: batch_size (documents, 1 or more). Gives: looked_at, how many; 0 when all are filled.
SET NOCOUNT ON;
DECLARE @batch_size int = :batch_size, @looked_at bigint;
EXEC dms.fill_max_dep @batch_size, @looked_at OUTPUT;
SELECT @looked_at AS looked_at;
