-- sql/postgres/queries/database/session_pid.sql: the process id of the server's session. Gives: pid.
SELECT pg_catalog.pg_backend_pid() AS pid
