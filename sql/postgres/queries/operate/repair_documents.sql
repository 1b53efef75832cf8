-- sql/postgres/queries/operate/repair_documents.sql: new stamps for documents, by signal, so that the triggers journal them.
-- Binds: rows (JSON array of {document_id, is_content, is_identity, is_key, is_again, identity_version}), which the caller has locked in
--   ascending order (lock_documents). is_key: the key values were changed unseen; the change is written from the last ones that the
--   journal knows. is_again: the document's key change at identity_version moves to the new stamp, as the document does.
WITH wanted AS MATERIALIZED (
    SELECT * FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS listed
        (document_id bigint, is_content boolean, is_identity boolean, is_key boolean, is_again boolean, identity_version bigint)
),
stamped AS (
    UPDATE dms.Document AS d
    SET ContentVersion = CASE WHEN wanted.is_content THEN NULL ELSE d.ContentVersion END,
        IdentityVersion = CASE WHEN wanted.is_identity THEN NULL ELSE d.IdentityVersion END
    FROM wanted
    WHERE d.DocumentId = wanted.document_id
    RETURNING d.DocumentId, d.DocumentUuid, d.ResourceKeyId, d.IdentityVersion, d.IdentityLastModifiedAt, d.KeyValues
),
moved AS (
    UPDATE dms.KeyChangeEvent AS k
    SET ChangeVersion = stamped.IdentityVersion
    FROM wanted JOIN stamped ON stamped.DocumentId = wanted.document_id
    WHERE wanted.is_again AND wanted.is_identity AND NOT wanted.is_key
      AND k.ChangeVersion = wanted.identity_version AND k.DocumentId = wanted.document_id
)
INSERT INTO dms.KeyChangeEvent (ChangeVersion, DocumentId, DocumentUuid, ResourceKeyId, OldKeyValues, NewKeyValues, CreatedAt)
SELECT stamped.IdentityVersion, stamped.DocumentId, stamped.DocumentUuid, stamped.ResourceKeyId, known.KeyValues, stamped.KeyValues,
       stamped.IdentityLastModifiedAt
FROM wanted
JOIN stamped ON stamped.DocumentId = wanted.document_id
CROSS JOIN LATERAL (
    SELECT NewKeyValues AS KeyValues FROM dms.KeyChangeEvent
    WHERE DocumentId = wanted.document_id AND DocumentUuid = stamped.DocumentUuid AND ChangeVersion <= wanted.identity_version
    ORDER BY DocumentId, ChangeVersion DESC LIMIT 1) AS known
WHERE wanted.is_key
