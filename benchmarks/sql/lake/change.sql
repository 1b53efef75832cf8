-- benchmarks/sql/lake/change.sql: changes, key changes and deletes of a window, spread over all resources. Bind: number (from 0 to 5).
WITH gone AS (
    DELETE FROM Document
    WHERE DocumentId % 660 = :number AND NOT EXISTS (SELECT FROM ReferenceEdge WHERE ChildDocumentId = Document.DocumentId)
), renamed AS (
    UPDATE Document SET KeyValues = KeyValues || jsonb_build_object('again', CAST(:number AS int)) WHERE DocumentId % 660 = :number + 6
)
UPDATE Document SET ContentVersion = nextval('ChangeVersionSequence'), ContentLastModifiedAt = clock_timestamp()
WHERE DocumentId % 66 = :number + 12
