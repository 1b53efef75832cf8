-- sql/postgres/queries/operate/split_step.sql: option partitions: takes the next step of a split. Run it in a transaction of its own.
-- Binds: journal; partition; versions (of a piece); batch_size (rows); readers (JSON array, null while rows are copied).
-- Gives: step: copied, whole, waiting or split; copied, rows.
SELECT step, copied
FROM dms.split_partition(:journal, :partition, CAST(:versions AS bigint), CAST(:batch_size AS bigint),
                         CASE WHEN CAST(:readers AS jsonb) IS NOT NULL
                              THEN ARRAY(SELECT jsonb_array_elements_text(CAST(:readers AS jsonb))) END)
