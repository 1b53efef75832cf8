-- benchmarks/sql/track/decoded.sql: has the server log whole old rows of the tables in the schema of search_path, as a journal of changes needs them.
ALTER TABLE t0 REPLICA IDENTITY FULL;
ALTER TABLE t2 REPLICA IDENTITY FULL;
ALTER TABLE t5 REPLICA IDENTITY FULL;
CREATE PUBLICATION dmsjournal_benchmark FOR TABLE t0, t2, t5;
