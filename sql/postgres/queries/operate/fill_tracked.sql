-- sql/postgres/queries/operate/fill_tracked.sql: one batch of a fill (functions/fill_tracked.v1.sql); no row: it is at its end.
-- Binds: table_name; blocks (of the table, in one transaction). Gives: pass (rows or documents), done, total (blocks), made (documents).
SELECT f.pass, f.done, f.total, f.made FROM dms.fill_tracked(CAST(:table_name AS text), CAST(:blocks AS integer)) AS f
