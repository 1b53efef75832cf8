-- sql/sqlserver/queries/operate/renew_tracking.sql: takes in what has changed about a tracked table (procedures/renew_tracking.v1.sql). Binds: table_name;
-- unseen, trust (truth values).
SET NOCOUNT ON;
DECLARE @table_name nvarchar(600) = :table_name, @unseen bit = :unseen, @trust bit = :trust;
EXEC dms.renew_tracking @table_name, @unseen, @trust;
SELECT 1 AS renewed;
