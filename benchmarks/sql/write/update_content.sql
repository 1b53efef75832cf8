-- benchmarks/sql/write/update_content.sql: a content change whose stamp the writer draws. Binds: first, last (DocumentId, inclusive).
UPDATE Document SET ContentVersion = nextval('ChangeVersionSequence'), ContentLastModifiedAt = clock_timestamp()
WHERE DocumentId BETWEEN :first AND :last
