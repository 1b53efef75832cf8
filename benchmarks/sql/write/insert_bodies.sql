-- benchmarks/sql/write/insert_bodies.sql: documents with bodies, by one statement. Binds: resource_key_id; first, last (DocumentId, inclusive).
WITH added AS (
    INSERT INTO Document (DocumentId, ResourceKeyId, KeyValues)
    SELECT id, CAST(:resource_key_id AS smallint), jsonb_build_object('id', id)
    FROM generate_series(CAST(:first AS bigint), CAST(:last AS bigint)) AS id
    RETURNING DocumentId
)
INSERT INTO DocumentCache (DocumentId, DocumentJson, Etag, ComputedVersion)
SELECT DocumentId, jsonb_build_object('id', DocumentId, 'name', 'a name of a usual length', 'grades', jsonb_build_array(1, 2, 3)), 'etag', 0 FROM added
