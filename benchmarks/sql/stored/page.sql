-- benchmarks/sql/stored/page.sql: one page of a stored ChangeVersion, one range of its index.
-- Binds: resource_key_id; max_version (inclusive); after_version, after_id (exclusive); page_size (rows; null is all).
SELECT ChangeVersion, DocumentId, DocumentUuid FROM stored.Document
WHERE ResourceKeyId = :resource_key_id AND ChangeVersion <= :max_version
  AND (ChangeVersion, DocumentId) > (:after_version, :after_id)
ORDER BY ChangeVersion, DocumentId LIMIT :page_size
