-- sql/postgres/queries/operate/insert_consumer.sql: registers a consumer; no row where the name is taken.
-- Binds: name; change_version (at most a horizon read before), document_id (exclusive); feed_token (null: none). Gives: name.
SELECT registered.name
FROM dms.register_consumer(
    CAST(:name AS text), CAST(:change_version AS bigint), CAST(:document_id AS bigint), CAST(:feed_token AS text)) AS registered (name)
