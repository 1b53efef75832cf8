-- sql/postgres/queries/database/current_schema.sql: the schema that names without one lie in, by the session's own search_path.
-- Qualified, as it runs before the transaction's search_path is fixed. Gives: current_schema, null where the path names none.
SELECT pg_catalog.current_schema()
