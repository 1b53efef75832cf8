-- sql/postgres/queries/operate/verify_tracked_rows.sql: rows of some blocks of a tracked table without a document, or whose document has other edges or another body.
-- Binds: table_name; low (inclusive), high (exclusive): blocks. Gives: code, name (key or document id); and a row 'end' with the last block of the table.
SELECT c.code, c.name FROM dms.check_tracked_rows(CAST(:table_name AS text), CAST(:low AS bigint), CAST(:high AS bigint)) AS c
