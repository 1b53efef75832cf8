-- sql/sqlserver/queries/read/tracked_bodies.sql: the rows of tracked tables as they are now, for documents of which no body is kept. Binds: document_ids (JSON
-- array of ids). Gives: document_id, body; no row for what is no tracked document. The caller's own rights on the tables count.
SET NOCOUNT ON;
DECLARE @document_ids nvarchar(max) = :document_ids;
EXEC dms.tracked_bodies @document_ids;
