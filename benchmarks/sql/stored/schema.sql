-- benchmarks/sql/stored/schema.sql: the physical limit of a read, a stored and indexed ChangeVersion. Nothing keeps it: see published/
-- and dms/ for what that costs elsewhere.
CREATE SCHEMA stored;
SET search_path = stored;
