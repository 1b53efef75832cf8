-- sql/sqlserver/queries/schema/adopt_edge_values.sql: what is null and must not be, for a batch of edges. Binds: after_id, through_id (parents).
UPDATE dms.ReferenceEdge
SET IsIdentityComponent = COALESCE(IsIdentityComponent, 0), ParentResourceKeyId = COALESCE(ParentResourceKeyId, 0),
    CreatedAt = COALESCE(CreatedAt, SYSUTCDATETIME())
WHERE ParentDocumentId > :after_id AND ParentDocumentId <= :through_id
  AND (IsIdentityComponent IS NULL OR ParentResourceKeyId IS NULL OR CreatedAt IS NULL);
