-- sql/postgres/queries/operate/status_consumers.sql: how far each registered consumer has read, by name.
-- Gives: name, change_version, document_id (the cursor, exclusive: at the highest id the version is read in full), updated_at.
SELECT Name AS name, ChangeVersion AS change_version, DocumentId AS document_id, UpdatedAt AS updated_at FROM dms.ChangeConsumer ORDER BY Name
