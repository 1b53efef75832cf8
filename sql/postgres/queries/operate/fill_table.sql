-- sql/postgres/queries/operate/fill_table.sql: a whole fill in the caller's transaction (functions/fill_table.v1.sql). Binds: table_name. Gives: made (documents).
SELECT dms.fill_table(CAST(:table_name AS text)) AS made
