-- sql/sqlserver/queries/operate/insert_consumer.sql: registers a consumer; no row where the name is taken.
-- Binds: name; change_version (at most a horizon read before), document_id (exclusive); feed_token (null: none). Gives: name.
SET NOCOUNT ON;
DECLARE @name nvarchar(256) = :name, @change_version bigint = :change_version, @document_id bigint = :document_id,
        @feed_token varchar(4096) = :feed_token;
EXEC dms.register_consumer @name, @change_version, @document_id, @feed_token;
