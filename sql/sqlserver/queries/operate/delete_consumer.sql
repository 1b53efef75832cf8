-- sql/sqlserver/queries/operate/delete_consumer.sql: forgets a consumer; no row where there is none. Binds: name. Gives: name.
SET NOCOUNT ON;
DECLARE @name nvarchar(256) = :name;
EXEC dms.drop_consumer @name;
