-- sql/sqlserver/queries/write/lock_creation.sql: one creator of a key at a time, until the transaction ends. Binds: stripes (JSON array of
-- numbers, ascending, which is the order in which all writers lock). A key's stripe is its hash; unrelated keys may share one.
SET NOCOUNT ON;
DECLARE @stripes nvarchar(max) = :stripes;
EXEC dms.lock_keys N'creation', @stripes, N'Exclusive';
