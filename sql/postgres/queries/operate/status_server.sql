-- sql/postgres/queries/operate/status_server.sql: the database, its clock, and the last stamp that was given, committed or not.
-- Gives one row: now; server; database_name; database_bytes; last_stamp (0 where none was given, null where the role may not see it).
-- Read it before the horizon: what is given between the two is no lag.
SELECT clock_timestamp() AS now,
       'PostgreSQL ' || split_part(current_setting('server_version'), ' ', 1) AS server,
       current_database() AS database_name,
       pg_database_size(current_database()) AS database_bytes,
       CASE WHEN has_sequence_privilege('dms.ChangeVersionSequence', 'SELECT, USAGE')
            THEN coalesce(pg_sequence_last_value('dms.ChangeVersionSequence'), 0) END AS last_stamp
