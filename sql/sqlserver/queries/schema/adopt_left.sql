-- sql/sqlserver/queries/schema/adopt_left.sql: what an abandoned adoption leaves otherwise than it was. Before it goes back. Gives: subject, found, remedy.
SELECT CAST(CONCAT(N'dms.', b.TableName) AS nvarchar(600)) AS subject,
       CAST(N'it has no event of what was written since the adoption''s triggers came' AS nvarchar(max)) AS found,
       CAST(N'Let its readers read everything once.' AS nvarchar(max)) AS remedy
FROM dms.AdoptionBefore AS b WHERE b.Kind = N'journal' AND OBJECT_ID(CONCAT(N'dms.', QUOTENAME(b.Name))) IS NOT NULL
UNION ALL
SELECT N'dms.ChangeVersionSequence', N'it stays: documents have stamps of it', N'Draw no version of documents from another sequence that is below it.'
WHERE OBJECT_ID(N'dms.ChangeVersionSequence') IS NOT NULL
UNION ALL
SELECT N'schema dms', N'keys, foreign keys and defaults that the adoption gave another name or form stay so',
       N'They refuse and do no more than before; a foreign key of dms.ReferenceEdge refuses to delete a document that another one refers to.'
ORDER BY subject;
