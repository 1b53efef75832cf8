-- sql/postgres/queries/demo/drop_schema.sql: removes a journal with its documents. For the demo, which brought both.
DROP SCHEMA IF EXISTS dms CASCADE
