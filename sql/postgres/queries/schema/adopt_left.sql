-- sql/postgres/queries/schema/adopt_left.sql: what an abandoned adoption leaves otherwise than it was. Before it goes back. Gives: subject, found, remedy.
SELECT CAST('dms.' || b.TableName AS text) AS subject, CAST('it has no event of what was written since the adoption''s triggers came' AS text) AS found,
       CAST('Let its readers read everything once.' AS text) AS remedy
FROM dms.AdoptionBefore AS b WHERE b.Kind = 'journal' AND to_regclass('dms.' || quote_ident(b.Name)) IS NOT NULL
UNION ALL
SELECT 'dms.ChangeVersionSequence', 'it stays: documents have stamps of it', 'Draw no version of documents from another sequence that is below it.'
WHERE to_regclass('dms.ChangeVersionSequence') IS NOT NULL
UNION ALL
SELECT 'schema dms', 'keys, foreign keys, defaults and identities that the adoption gave another name or form stay so',
       'They refuse and do no more than before; a foreign key of dms.ReferenceEdge refuses to delete a document that another one refers to.'
ORDER BY subject
