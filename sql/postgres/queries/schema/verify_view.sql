-- sql/postgres/queries/schema/verify_view.sql: a temporary view as the server tells it. Binds: view_name. PostgreSQL only: SQL Server keeps the text.
SELECT pg_get_viewdef(oid) AS definition FROM pg_class WHERE relname = CAST(:view_name AS text) AND relnamespace = pg_my_temp_schema()
