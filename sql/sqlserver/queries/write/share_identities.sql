-- sql/sqlserver/queries/write/share_identities.sql: nobody renames what some keys name, until the transaction ends; others may share.
-- Binds: stripes (JSON array of numbers, ascending, which is the order in which all writers lock). A key's stripe is its hash.
SET NOCOUNT ON;
DECLARE @stripes nvarchar(max) = :stripes;
EXEC dms.lock_keys N'identity', @stripes, N'Shared';
