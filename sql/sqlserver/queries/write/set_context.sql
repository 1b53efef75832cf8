-- sql/sqlserver/queries/write/set_context.sql: what causes the changes of this transaction from here on. Binds: context (a JSON object as text; {}
-- for nothing).
SET NOCOUNT ON;
DECLARE @context nvarchar(3900) = :context, @resources int;
SELECT @resources = COUNT(*) FROM (SELECT TOP (1) ResourceKeyId FROM dms.ResourceKey) AS resource;  -- begins the transaction: no procedure call does
EXEC dms.set_context @context;
