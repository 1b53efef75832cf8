-- benchmarks/sql/extract/plain_with_bodies.sql: plain.sql, with bodies.
SELECT change.ResourceKeyId AS resource_key_id, change.ChangeVersion AS change_version, change.DocumentId AS document_id,
       CAST(change.DocumentUuid AS text) AS document_uuid, CAST(change.KeyValues AS text) AS key_values, change.CommittedAt AS committed_at,
       CAST(cache.DocumentJson AS text) AS body
FROM dms.ResourceChange AS change
LEFT JOIN dms.DocumentCache AS cache ON cache.DocumentId = change.DocumentId
