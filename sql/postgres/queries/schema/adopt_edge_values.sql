-- sql/postgres/queries/schema/adopt_edge_values.sql: what is null and must not be, for a batch of edges. Binds: after_id, through_id (parents).
UPDATE dms.ReferenceEdge
SET IsIdentityComponent = coalesce(IsIdentityComponent, false), ParentResourceKeyId = coalesce(ParentResourceKeyId, 0),
    CreatedAt = coalesce(CreatedAt, now())
WHERE ParentDocumentId > CAST(:after_id AS bigint) AND ParentDocumentId <= CAST(:through_id AS bigint)
  AND (IsIdentityComponent IS NULL OR ParentResourceKeyId IS NULL OR CreatedAt IS NULL)
