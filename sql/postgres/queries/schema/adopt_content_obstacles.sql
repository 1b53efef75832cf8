-- sql/postgres/queries/schema/adopt_content_obstacles.sql: columns that cannot be content (--content-column). It is asked in each run: a later one may name others.
-- Binds: content_columns (JSON array). Gives: subject, found, remedy. After adopt/model.sql, in the same transaction.
WITH content AS (  -- the names that are given: as they are, else folded as the server does it; not the journal's own columns
    SELECT DISTINCT ON (given.value) given.value AS given, theirs.name, theirs.is_generated
    FROM jsonb_array_elements_text(CAST(:content_columns AS jsonb)) AS given (value)
    LEFT JOIN (
        SELECT a.attname AS name, a.attgenerated <> '' AS is_generated
        FROM pg_attribute AS a
        WHERE a.attrelid = to_regclass('dms.Document') AND a.attnum > 0 AND NOT a.attisdropped
          AND a.attname NOT IN (SELECT name FROM pg_temp.fitted_column WHERE table_name = 'document')
    ) AS theirs ON theirs.name IN (given.value, lower(given.value))
    ORDER BY given.value, theirs.name = given.value DESC
)
SELECT 'dms.Document.' || given AS subject, 'there is no such column for --content-column, or the journal looks at it anyway' AS found,
       'Name a column of your own.' AS remedy
FROM content WHERE name IS NULL
UNION ALL
SELECT 'dms.Document.' || given, 'it is generated, so that no trigger sees it change in time', 'Name the columns that it is made of.'
FROM content WHERE is_generated
