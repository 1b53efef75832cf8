-- benchmarks/sql/write/update_content.dms.sql: a content change as dms takes it: any other value is the signal, the trigger draws the stamp.
UPDATE Document SET ContentVersion = ContentVersion + 1
WHERE DocumentId BETWEEN :first AND :last
