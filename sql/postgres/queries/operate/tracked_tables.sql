-- sql/postgres/queries/operate/tracked_tables.sql: the tracked tables (functions/tracked_tables.v1.sql), in the order of their names.
SELECT t.table_name, t.project_name, t.resource_name, t.resource_version, t.key_columns, t.shown_columns, t.watched_columns, t.keeps_bodies, t.refers_to,
       t.estimated_rows, t.is_filled, t.state
FROM dms.tracked_tables() AS t ORDER BY t.table_name
