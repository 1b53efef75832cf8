-- sql/sqlserver/queries/operate/move_tombstones.sql: tombstones get new stamps, above whatever they must be above. Runs after enter_change.
-- Binds: rows (JSON array of {version}).
SET NOCOUNT ON;
DECLARE @rows nvarchar(max) = :rows;
UPDATE event SET ChangeVersion = NEXT VALUE FOR dms.ChangeVersionSequence
FROM dms.DocumentDeleteEvent AS event
WHERE event.ChangeVersion IN (SELECT wanted.version FROM OPENJSON(@rows) WITH (version bigint '$.version') AS wanted);
