-- sql/postgres/queries/horizon.sql: the horizon; in a statement of its own, before the one that reads (invariant 5).
SELECT dms.horizon() AS horizon
