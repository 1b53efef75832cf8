-- benchmarks/sql/extract/bodies.sql: a body of about so many bytes for each document, of words that do not repeat, as compression would hide the size.
-- Binds: bytes.
INSERT INTO dms.DocumentCache (DocumentId, DocumentJson, Etag, ComputedVersion)
SELECT DocumentId, jsonb_build_object('id', DocumentId, 'words', string_agg(md5(DocumentId::text || word::text), ' ' ORDER BY word)), '', 0
FROM dms.Document, generate_series(1, greatest(1, CAST(:bytes AS integer) / 33)) AS word
GROUP BY DocumentId
