-- sql/sqlserver/queries/delete_consumer.sql: forgets a consumer; no row where there is none. Binds: name. Gives: name.
SET NOCOUNT ON;
DECLARE @name nvarchar(256) = :name;
DELETE consumer FROM dms.ChangeConsumer AS consumer WHERE consumer.Name = @name;
SELECT @name AS name WHERE @@ROWCOUNT = 1;
