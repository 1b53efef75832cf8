-- benchmarks/sql/extract/plain.sql: what an extract of upserts has, as one query; for one task of Spark's, and for COPY.
SELECT ResourceKeyId AS resource_key_id, ChangeVersion AS change_version, DocumentId AS document_id,
       CAST(DocumentUuid AS text) AS document_uuid, CAST(KeyValues AS text) AS key_values, CommittedAt AS committed_at
FROM dms.ResourceChange
