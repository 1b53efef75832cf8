-- sql/postgres/queries/spark/sources/copy.sql: how a task reads the rows of another source of this folder, or some of them, as text.
-- Braces: columns, source, name and condition, which are texts; whoever fills them in takes none of them from a user.
-- No value has a delimiter or a quote in it, since JSON, numbers, times and UUIDs have no control characters: so hardly one is quoted. A null
--   is nothing between two delimiters, and an empty text two quotes.
-- Plan: the source's.
COPY (SELECT {columns} FROM ({source}) AS {name} WHERE {condition}) TO STDOUT (FORMAT csv, DELIMITER E'\x02', QUOTE E'\x01', ENCODING 'UTF8')
