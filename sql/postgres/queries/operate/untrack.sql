-- sql/postgres/queries/operate/untrack.sql: tracks a table no more (functions/untrack.v1.sql). Binds: table_name; keep_documents (a truth value).
SELECT dms.untrack(CAST(:table_name AS text), CAST(:keep_documents AS boolean)) AS untracked
