-- sql/postgres/queries/operate/update_consumer.sql: moves a consumer; no row where it has moved past the place already, and may not go back.
-- Binds: name; change_version (at most a horizon read before), document_id (exclusive); feed_token (null: none); backwards (true or false). Gives: name.
SELECT moved.name
FROM dms.move_consumer(CAST(:name AS text), CAST(:change_version AS bigint), CAST(:document_id AS bigint),
                       CAST(:feed_token AS text), CAST(:backwards AS boolean)) AS moved (name)
