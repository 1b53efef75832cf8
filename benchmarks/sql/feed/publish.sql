-- benchmarks/sql/feed/publish.sql: what a logical slot tells of: the documents, one change for each that the journal tells.
CREATE PUBLICATION dmsjournal_benchmark FOR TABLE dms.Document;
