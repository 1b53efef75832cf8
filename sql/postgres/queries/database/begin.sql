-- sql/postgres/queries/database/begin.sql: what each transaction of ours begins with, after checks/search_path.sql and checks/printing.sql: nothing
-- of ours waits for a lock for ever. A lock timeout that the URL, the role or the database sets is kept. A setting of the transaction, since a
-- pooler gives the session to other programs (invariant 12).
SELECT pg_catalog.set_config('lock_timeout', CASE WHEN pg_catalog.current_setting('lock_timeout') OPERATOR(pg_catalog.=) '0' THEN '30s'
                                                  ELSE pg_catalog.current_setting('lock_timeout') END, true);
