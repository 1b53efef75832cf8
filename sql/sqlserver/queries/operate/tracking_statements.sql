-- sql/sqlserver/queries/operate/tracking_statements.sql: what track would run, for a table that note_tracked.sql has written down. Binds: relation_id.
-- Gives: table_name, statement.
SET NOCOUNT ON;
DECLARE @relation int = :relation_id;
SELECT t.TableName AS table_name, o.statement FROM dms.TrackedTable AS t CROSS APPLY dms.tracking_of(t.TrackedTableId) AS o WHERE t.RelationId = @relation ORDER BY o.place;
