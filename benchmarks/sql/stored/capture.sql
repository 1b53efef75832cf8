-- benchmarks/sql/stored/capture.sql: the column and its index.
ALTER TABLE stored.Document ADD COLUMN ChangeVersion bigint NOT NULL DEFAULT 0;
CREATE INDEX IX_Document_ChangeVersion ON stored.Document (ResourceKeyId, ChangeVersion, DocumentId);
