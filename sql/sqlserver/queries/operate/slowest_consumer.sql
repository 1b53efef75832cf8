-- sql/sqlserver/queries/operate/slowest_consumer.sql: the consumer that needs the lowest version; no row where none is registered.
-- Gives: name, change_version, document_id (the cursor, exclusive: at the highest id the version is read in full), updated_at.
SELECT TOP (1) Name AS name, ChangeVersion AS change_version, DocumentId AS document_id, UpdatedAt AS updated_at
FROM dms.ChangeConsumer
ORDER BY CASE WHEN DocumentId = CAST(9223372036854775807 AS bigint) THEN ChangeVersion ELSE ChangeVersion - 1 END, Name;
