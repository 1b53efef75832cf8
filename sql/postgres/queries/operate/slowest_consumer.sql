-- sql/postgres/queries/operate/slowest_consumer.sql: the consumer that needs the lowest version; no row where none is registered.
-- Gives: name, change_version, document_id (the cursor, exclusive: at the highest id the version is read in full), updated_at.
SELECT Name AS name, ChangeVersion AS change_version, DocumentId AS document_id, UpdatedAt AS updated_at
FROM dms.ChangeConsumer
ORDER BY CASE WHEN DocumentId = 9223372036854775807 THEN ChangeVersion ELSE ChangeVersion - 1 END, Name
LIMIT 1
