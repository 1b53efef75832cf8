-- sql/postgres/queries/verify_image_batch.sql: where the next batch of images ends, as verify_batch.sql.
-- Binds: after (ChangeVersion, exclusive); size (rows, 1 or more). Gives: last (inclusive; null where nothing is left) and rows.
-- Plan:  a range of the primary key. What waits for its event (2^63-1) is left out.
SELECT max(batch.place) AS last, count(*) AS rows
FROM (
    SELECT ChangeVersion AS place FROM dms.DocumentImage
    WHERE ChangeVersion > CAST(:after AS bigint) AND ChangeVersion < 9223372036854775807
    ORDER BY ChangeVersion LIMIT CAST(:size AS bigint)
) AS batch
