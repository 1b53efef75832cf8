-- sql/postgres/checks/search_path.sql: names resolve to pg_catalog, and to nothing that another role made (invariant 13); and the server refuses
-- a statement from which row level security would hide rows (invariant 11). The first statements of each transaction of ours, and of each
-- printed script. SET resolves no name itself. LOCAL: it ends with the transaction, since a pooler gives the session to other programs
-- (invariant 12).
SET LOCAL search_path = pg_catalog, pg_temp;
SET LOCAL row_security = off;
