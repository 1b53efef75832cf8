-- sql/postgres/queries/schema/adopt_check_keys.sql: keys that the checks of the document tables would refuse. Gives: subject, found, remedy.
-- Reads all documents. The column may be of another type: so it is looked for in the row.
SELECT 'dms.Document.KeyValues' AS subject,
       concat(count(*), ' keys are longer than 8,192 bytes as text, such as that of document ', min(DocumentId)) AS found,
       'Shorten them: a key is what identifies a document, the rest belongs into its body.' AS remedy
FROM dms.Document AS d WHERE octet_length(to_jsonb(d) ->> 'keyvalues') > 8192 HAVING count(*) > 0
