-- sql/postgres/queries/demo/is_empty.sql: whether a database has no table of anybody's, and neither schema dms nor shop.
SELECT to_regnamespace('dms') IS NULL AND to_regnamespace('shop') IS NULL AND NOT EXISTS (
    SELECT FROM pg_class WHERE relkind IN ('r', 'p') AND relnamespace::regnamespace::text !~ '^(pg_|information_schema$)')
