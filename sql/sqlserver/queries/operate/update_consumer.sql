-- sql/sqlserver/queries/operate/update_consumer.sql: moves a consumer; no row where it has moved past the place already, and may not go back.
-- Binds: name; change_version (at most a horizon read before), document_id (exclusive); feed_token (null: none); backwards (1 or 0). Gives: name.
SET NOCOUNT ON;
DECLARE @name nvarchar(256) = :name, @change_version bigint = :change_version, @document_id bigint = :document_id,
        @feed_token varchar(4096) = :feed_token, @backwards bit = :backwards;
EXEC dms.move_consumer @name, @change_version, @document_id, @feed_token, @backwards;
