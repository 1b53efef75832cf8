-- sql/postgres/queries/operate/verify_image_batch.sql: where the next batch of images ends, as verify_batch.sql.
-- Binds: after (ChangeVersion, exclusive); size (rows, 1 or more). Gives: last (inclusive; null where nothing is left) and rows.
-- Plan:  a range of the primary key; see verify_batch.sql. What waits for its event (2^63-1) is left out, afterwards: of a range with two
--   ends the planner expects little, and would sort all of it.
SELECT max(batch.place) AS last, count(*) AS rows
FROM (
    SELECT ChangeVersion AS place FROM dms.DocumentImage
    WHERE ChangeVersion > (SELECT CAST(:after AS bigint))
    ORDER BY ChangeVersion LIMIT CAST(:size AS bigint)
) AS batch
WHERE batch.place < 9223372036854775807
