-- sql/postgres/queries/operate/verify_tracked_documents.sql: documents of a tracked table that have no row, among the next ones after an id.
-- Binds: table_name; after (exclusive). Gives: code, name (document id); and a row 'end' with the last id that was looked at, null at the end.
SELECT c.code, c.name FROM dms.check_tracked_documents(CAST(:table_name AS text), CAST(:after AS bigint)) AS c
