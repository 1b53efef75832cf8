-- sql/postgres/queries/schema/adopt_cased.sql: document tables and columns whose names are in quotes with capitals, such as dms."Document": what to do about
-- each. After adopt/model.sql, in the same transaction. Gives: severity (obstacle), subject, found, remedy.
-- Columns first, then the table, then a view of the old name: programs that quote names go on through it, and foreign keys follow by themselves.
WITH named AS (
    SELECT c.oid AS id, c.relname AS name, lower(c.relname) AS folded, t.model
    FROM pg_temp.fitted_table AS t JOIN pg_class AS c ON c.relnamespace = to_regnamespace('dms') AND lower(c.relname) = t.name
    WHERE c.relkind IN ('r', 'p') AND (c.relname = t.name OR NOT EXISTS (
        SELECT FROM pg_class AS other WHERE other.relnamespace = c.relnamespace AND other.relname = t.name))
), cased AS (
    SELECT n.id, n.name, n.folded, quote_ident(n.name) AS quoted,
           string_agg('ALTER TABLE dms.' || quote_ident(n.name) || ' RENAME COLUMN ' || quote_ident(a.attname) || ' TO ' || m.attname || '; ', '' ORDER BY a.attnum)
               FILTER (WHERE a.attname <> m.attname) AS columns,
           string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum) FILTER (WHERE a.attname <> m.attname) AS found,
           string_agg(concat_ws(' AS ', CASE WHEN a.attname <> m.attname THEN m.attname END, quote_ident(a.attname)), ', ' ORDER BY a.attnum) AS shown
    FROM named AS n
    JOIN pg_attribute AS a ON a.attrelid = n.id AND a.attnum > 0 AND NOT a.attisdropped
    LEFT JOIN (
        SELECT attrelid, attname FROM pg_attribute WHERE attnum > 0
        UNION ALL
        SELECT t.model, names.name FROM pg_temp.fitted_table AS t CROSS JOIN (VALUES ('projectname'), ('resourcename'), ('resourceversion')) AS names (name)
        WHERE t.name = 'document'
    ) AS m ON m.attrelid = n.model AND m.attname = lower(a.attname)
    GROUP BY n.id, n.name, n.folded
)
SELECT 'obstacle' AS severity, 'dms.' || c.quoted AS subject,
       concat_ws(' and ', CASE WHEN c.name <> c.folded THEN 'its name has capitals, and the journal takes dms.' || c.folded END,
                 CASE WHEN c.name <> c.folded THEN 'so have its columns ' ELSE 'capitals are in the names of its columns ' END || c.found) AS found,
       concat('Fold them in one transaction: BEGIN; ', c.columns,
              CASE WHEN c.name <> c.folded THEN concat('ALTER TABLE dms.', c.quoted, ' RENAME TO ', c.folded, '; CREATE VIEW dms.', c.quoted, ' AS SELECT ', c.shown,
                                                       ' FROM dms.', c.folded, '; ') END, 'COMMIT;',
              CASE WHEN c.name <> c.folded THEN ' Programs that quote the names go on through the view: GRANT them on it what they have on the table.' END) AS remedy
FROM cased AS c
WHERE c.name <> c.folded OR c.columns IS NOT NULL
UNION ALL
SELECT 'obstacle', concat('trigger ', quote_ident(g.tgname), ' on dms.', c.quoted),
       concat('its function ', g.tgfoid::regprocedure, ' may name columns in quotes, and would fail where they are folded'),
       'Before you fold them, drop it, or let its function name them without capitals. One that writes a journal is not needed any more.'
FROM cased AS c JOIN pg_trigger AS g ON g.tgrelid = c.id AND NOT g.tgisinternal
WHERE c.columns IS NOT NULL
ORDER BY subject, found
