-- benchmarks/sql/dms/window.sql: a whole window as a set, from the view that bulk readers use.
-- Binds: resource_key_id; min_version, max_version (inclusive).
SELECT ChangeVersion, DocumentId, DocumentUuid FROM dms.ResourceChange
WHERE ResourceKeyId = :resource_key_id AND ChangeVersion BETWEEN :min_version AND :max_version
ORDER BY ChangeVersion, DocumentId
