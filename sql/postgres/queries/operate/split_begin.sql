-- sql/postgres/queries/operate/split_begin.sql: option partitions: begins to split a part of a journal, or goes on. Gives: pieces, that it falls into.
-- Binds: journal; partition; versions (of a piece).
SELECT dms.begin_split(:journal, :partition, CAST(:versions AS bigint)) AS pieces
