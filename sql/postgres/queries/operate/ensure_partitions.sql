-- sql/postgres/queries/operate/ensure_partitions.sql: option partitions: takes the next step towards parts for the versions to come; no row where there is
-- nothing left to do. Run it in a transaction of its own.
-- Binds: versions (of a part, 1 or more); ahead (parts, 1 or more). Gives: journal, step.
SELECT journal, step FROM dms.ensure_partitions(CAST(:versions AS bigint), CAST(:ahead AS integer))
