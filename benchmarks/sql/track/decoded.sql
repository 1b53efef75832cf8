-- benchmarks/sql/track/decoded.sql: what logical decoding is told of the tables in the schema of search_path: whole old rows, as a journal of changes
-- needs them.
ALTER TABLE t0 REPLICA IDENTITY FULL;
ALTER TABLE t2 REPLICA IDENTITY FULL;
ALTER TABLE t5 REPLICA IDENTITY FULL;
CREATE PUBLICATION dmsjournal_benchmark FOR TABLE t0, t2, t5;
