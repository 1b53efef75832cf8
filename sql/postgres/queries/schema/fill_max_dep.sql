-- sql/postgres/queries/schema/fill_max_dep.sql: fills MaxDepIdentityVersion of the next documents; in a transaction of its own.
-- Binds: batch_size (documents, 1 or more). Gives: looked_at, how many; 0 when all are filled.
SELECT dms.fill_max_dep(CAST(:batch_size AS integer)) AS looked_at
