-- sql/sqlserver/queries/operate/repair_documents.sql: new stamps for documents, by signal, so that the triggers journal them.
-- Binds: rows (JSON array of {document_id, is_content, is_identity, is_key, is_again, identity_version}), which the caller has locked in
--   ascending order (lock_documents). is_key: the key values were changed unseen; the change is written from the last ones that the
--   journal knows. is_again: the document's key change at identity_version moves to the new stamp, as the document does.
SET NOCOUNT ON;
DECLARE @rows nvarchar(max) = :rows;
DECLARE @wanted TABLE (
    DocumentId      bigint NOT NULL PRIMARY KEY,
    IsContent       bit    NOT NULL,
    IsIdentity      bit    NOT NULL,
    IsKey           bit    NOT NULL,
    IsAgain         bit    NOT NULL,
    IdentityVersion bigint NOT NULL
);
INSERT INTO @wanted (DocumentId, IsContent, IsIdentity, IsKey, IsAgain, IdentityVersion)
SELECT listed.document_id, listed.is_content, listed.is_identity, listed.is_key, listed.is_again, listed.identity_version
FROM OPENJSON(@rows) WITH (
    document_id bigint '$.document_id', is_content bit '$.is_content', is_identity bit '$.is_identity', is_key bit '$.is_key',
    is_again bit '$.is_again', identity_version bigint '$.identity_version'
) AS listed;
UPDATE document  -- a signal is another value than what is there
SET ContentVersion = CASE WHEN wanted.IsContent = 0 THEN document.ContentVersion WHEN document.ContentVersion = -1 THEN -2 ELSE -1 END,
    IdentityVersion = CASE WHEN wanted.IsIdentity = 0 THEN document.IdentityVersion WHEN document.IdentityVersion = -1 THEN -2 ELSE -1 END
FROM @wanted AS wanted INNER JOIN dms.Document AS document ON document.DocumentId = wanted.DocumentId
OPTION (LOOP JOIN, FORCE ORDER);
INSERT INTO dms.KeyChangeEvent (ChangeVersion, DocumentId, DocumentUuid, ResourceKeyId, OldKeyValues, NewKeyValues, CreatedAt)
SELECT document.IdentityVersion, document.DocumentId, document.DocumentUuid, document.ResourceKeyId, known.KeyValues, document.KeyValues,
       document.IdentityLastModifiedAt
FROM @wanted AS wanted
INNER JOIN dms.Document AS document ON document.DocumentId = wanted.DocumentId
CROSS APPLY (
    SELECT TOP (1) NewKeyValues AS KeyValues FROM dms.KeyChangeEvent AS event
    WHERE event.DocumentId = wanted.DocumentId AND event.DocumentUuid = document.DocumentUuid
      AND event.ChangeVersion <= wanted.IdentityVersion
    ORDER BY event.ChangeVersion DESC
) AS known
WHERE wanted.IsKey = 1
OPTION (LOOP JOIN, FORCE ORDER);
UPDATE event SET ChangeVersion = document.IdentityVersion
FROM @wanted AS wanted
INNER JOIN dms.Document AS document ON document.DocumentId = wanted.DocumentId
INNER JOIN dms.KeyChangeEvent AS event ON event.ChangeVersion = wanted.IdentityVersion AND event.DocumentId = wanted.DocumentId
WHERE wanted.IsAgain = 1 AND wanted.IsIdentity = 1 AND wanted.IsKey = 0
OPTION (LOOP JOIN, FORCE ORDER);
