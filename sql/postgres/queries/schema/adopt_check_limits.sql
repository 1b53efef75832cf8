-- sql/postgres/queries/schema/adopt_check_limits.sql: what the checks of the document tables would refuse. Gives: subject, found, remedy. Reads all
-- documents. A key's column may not be there yet, or be of another type: so it is looked for in the row.
SELECT 'dms.Document.DocumentId' AS subject, concat(count(*), ' documents have an id at an end of bigint: ', min(DocumentId)) AS found,
       'Give them other ids: the ends mark what is before the first and after the last.' AS remedy
FROM dms.Document WHERE DocumentId NOT BETWEEN -9223372036854775807 AND 9223372036854775806 HAVING count(*) > 0
UNION ALL
SELECT 'dms.Document.KeyValues', concat(count(*), ' keys are longer than 8,192 bytes as text, such as that of document ', min(DocumentId)),
       'Shorten them: a key is what identifies a document, the rest belongs into its body.'
FROM dms.Document AS d WHERE octet_length(to_jsonb(d) ->> 'keyvalues') > 8192 HAVING count(*) > 0
