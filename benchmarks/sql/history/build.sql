-- benchmarks/sql/history/build.sql: one history, computed from its numbers alone (history.Parameter), from which every schema is filled.
-- Stamps 1 to `documents` are the inserts, document n at stamp n; then come `events` updates, one a stamp, 1 in 20 of an identity.
-- 20 resources: 1 is descriptors (1 % of the documents), 20 is the resource that is asked for (a quarter), refers to all others and
-- to which nothing refers. Each document refers to one descriptor (some to very popular ones) and to older documents.
CREATE FUNCTION history.pick(n bigint, salt bigint, below bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
    SELECT (hashint8extended(n, salt) & 9223372036854775807) % below
$$;

CREATE TABLE history.Resource AS
SELECT document::bigint AS DocumentId,
       (CASE WHEN document <= documents / 100 THEN 1 WHEN document % 4 = 0 THEN 20 ELSE 2 + document % 18 END)::smallint AS ResourceKeyId
FROM history.Parameter, generate_series(1, documents) AS document;
ALTER TABLE history.Resource ADD PRIMARY KEY (DocumentId);

CREATE TABLE history.Event AS
SELECT event.ChangeVersion, event.DocumentId, resource.ResourceKeyId,
       history.pick(event.ChangeVersion, 2, 20) = 0 AND resource.ResourceKeyId <> 20 AS IsIdentity
FROM history.Parameter
CROSS JOIN LATERAL (
    SELECT stamp AS ChangeVersion, 1 + history.pick(stamp, 1, documents) AS DocumentId
    FROM generate_series(documents + 1, documents + events) AS stamp) AS event
JOIN history.Resource AS resource ON resource.DocumentId = event.DocumentId;

CREATE TABLE history.Edge AS
SELECT DISTINCT parent.DocumentId AS ParentDocumentId, child.DocumentId AS ChildDocumentId, parent.ResourceKeyId AS ParentResourceKeyId
FROM history.Parameter
CROSS JOIN LATERAL (SELECT greatest(documents / 100, 1) AS descriptors) AS count
JOIN history.Resource AS parent ON parent.DocumentId > count.descriptors
CROSS JOIN LATERAL generate_series(1, edges_per_document) AS slot
CROSS JOIN LATERAL (SELECT CASE WHEN slot = 1
    THEN 1 + history.pick(parent.DocumentId, 3, 1000000) ^ 2 * count.descriptors / 1000000000000  -- squared: the first are popular
    ELSE count.descriptors + 1 + history.pick(parent.DocumentId, slot + 3, greatest(parent.DocumentId - count.descriptors - 1, 1))
    END::numeric AS drawn) AS any_child
CROSS JOIN LATERAL (SELECT trunc(drawn)::bigint AS drawn_id) AS whole
CROSS JOIN LATERAL (SELECT CASE WHEN slot > 1 AND drawn_id % 4 = 0 THEN drawn_id - 1 ELSE drawn_id END AS DocumentId) AS child
WHERE child.DocumentId < parent.DocumentId;

CREATE TABLE history.Document AS
SELECT resource.DocumentId, resource.ResourceKeyId,
       coalesce(max(event.ChangeVersion) FILTER (WHERE NOT event.IsIdentity), resource.DocumentId) AS ContentVersion,
       coalesce(max(event.ChangeVersion) FILTER (WHERE event.IsIdentity), resource.DocumentId) AS IdentityVersion
FROM history.Resource AS resource
LEFT JOIN history.Event AS event ON event.DocumentId = resource.DocumentId
GROUP BY resource.DocumentId
ORDER BY resource.DocumentId;
ALTER TABLE history.Document ADD PRIMARY KEY (DocumentId);
ANALYZE history.Document, history.Edge, history.Event;

CREATE VIEW history.Row AS  -- a row of Document as every schema gets it
SELECT DocumentId, md5(DocumentId::text)::uuid AS DocumentUuid, ResourceKeyId, ContentVersion, IdentityVersion,
       timestamptz '2026-01-01 00:00:00+00' + ContentVersion * interval '1 ms' AS ContentLastModifiedAt,
       timestamptz '2026-01-01 00:00:00+00' + IdentityVersion * interval '1 ms' AS IdentityLastModifiedAt,
       timestamptz '2026-01-01 00:00:00+00' + DocumentId * interval '1 ms' AS CreatedAt,
       jsonb_build_object('id', DocumentId) AS KeyValues
FROM history.Document;
CREATE VIEW history.ResourceKey AS
SELECT id::smallint AS ResourceKeyId, 'Benchmark' AS ProjectName, 'Resource' || id AS ResourceName, '1.0' AS ResourceVersion
FROM generate_series(1, 20) AS id;
CREATE VIEW history.Stamp AS  -- the row of either journal that each stamp leaves
SELECT ChangeVersion, DocumentId, ResourceKeyId, IsIdentity, 'update' AS Operation,
       timestamptz '2026-01-01 00:00:00+00' + ChangeVersion * interval '1 ms' AS CreatedAt
FROM history.Event
UNION ALL
SELECT DocumentId, DocumentId, ResourceKeyId, false, 'insert', timestamptz '2026-01-01 00:00:00+00' + DocumentId * interval '1 ms'
FROM history.Resource;
