-- sql/postgres/queries/demo/drop_schema.sql: removes a journal with its documents, and the demo's tables. For the demo, which brought them.
DROP SCHEMA IF EXISTS shop, dms CASCADE
