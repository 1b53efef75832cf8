-- sql/sqlserver/queries/operate/verify_image_batch.sql: where the next batch of images ends, as verify_batch.sql.
-- Binds: after (ChangeVersion, exclusive); size (rows, 1 or more). Gives: last (inclusive; null where nothing is left) and rows.
-- Plan:  a range of the primary key. What waits for its event (2^63-1) is left out.
SET NOCOUNT ON;
DECLARE @after bigint = :after, @size bigint = :size;
SELECT MAX(batch.place) AS last, COUNT_BIG(*) AS rows
FROM (
    SELECT TOP (@size) ChangeVersion AS place FROM dms.DocumentImage
    WHERE ChangeVersion > @after AND ChangeVersion < CAST(9223372036854775807 AS bigint)
    ORDER BY ChangeVersion
) AS batch;
