-- sql/sqlserver/queries/write/lock_identities.sql: nobody else writes a document whose identity contains what some keys name, nor
-- renames one of those, until the transaction ends.
-- Binds: stripes (JSON array of numbers, ascending, which is the order in which all writers lock). A key's stripe is its hash.
SET NOCOUNT ON;
DECLARE @stripes nvarchar(max) = :stripes;
EXEC dms.lock_keys N'identity', @stripes, N'Exclusive';
