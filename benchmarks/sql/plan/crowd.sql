-- benchmarks/sql/plan/crowd.sql: a rename of a document that many others refer to, at the last version. No trigger and no foreign key is asked.
-- Binds: documents; version.
WITH document AS (
    INSERT INTO dms.Document (DocumentId, ResourceKeyId, ContentVersion, IdentityVersion) OVERRIDING SYSTEM VALUE
    SELECT n, 2, 0, CASE WHEN n = 0 THEN CAST(:version AS bigint) ELSE 0 END FROM generate_series(0, CAST(:documents AS bigint)) AS n
),
edge AS (
    INSERT INTO dms.ReferenceEdge (ParentDocumentId, ChildDocumentId, ParentResourceKeyId)
    SELECT n, 0, 2 FROM generate_series(1, CAST(:documents AS bigint)) AS n
),
dependency AS (
    INSERT INTO dms.ResourceDependency (ParentResourceKeyId, ChildResourceKeyId) VALUES (2, 2)
),
event AS (
    INSERT INTO dms.IdentityChangeEvent (ChangeVersion, DocumentId, ResourceKeyId, CreatedAt) VALUES (CAST(:version AS bigint), 0, 2, now())
)
SELECT setval('dms.ChangeVersionSequence', CAST(:version AS bigint))
