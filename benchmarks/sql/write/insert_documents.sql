-- benchmarks/sql/write/insert_documents.sql: bulk insert. Binds: resource_key_id; first, last (DocumentId, inclusive).
INSERT INTO Document (DocumentId, ResourceKeyId, KeyValues)
SELECT id, CAST(:resource_key_id AS smallint), jsonb_build_object('id', id) FROM generate_series(CAST(:first AS bigint), CAST(:last AS bigint)) AS id
