-- sql/postgres/queries/spark/export_snapshot.sql: the name under which other sessions can adopt this transaction's snapshot.
-- Binds: none. One row. Call it first in a REPEATABLE READ, READ ONLY transaction, and keep that open: the name ends with it.
-- Plan:  two functions. The transaction is meant to be idle while others read, so a server's limit on that does not apply.
SELECT pg_export_snapshot() FROM set_config('idle_in_transaction_session_timeout', '0', true)
