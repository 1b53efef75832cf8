-- sql/postgres/queries/schema/begin_twins.sql: one search path for the twins and for what they are compared with, so that names of the server's mean the
-- server's, and whatever else a definition means is told with its schema. Ends with the savepoint that it runs in.
SELECT set_config('search_path', 'pg_catalog, pg_temp', true)
