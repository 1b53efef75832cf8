-- sql/postgres/functions/held_floors.v1.sql: the floors of the transactions that are writing in this database, prepared ones
-- among them (their pid is null). The inverse of enter_change's key.
CREATE FUNCTION dms.held_floors() RETURNS TABLE (pid integer, floor bigint, virtualtransaction text)
LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp SET row_security = off AS $$
    SELECT l.pid,
           CASE WHEN key.low < 140737488355328 THEN key.low ELSE (key.low - 140737488355328) << 16 END,
           l.virtualtransaction
    FROM pg_locks AS l,
         LATERAL (SELECT ((l.classid::bigint & 65535) << 32) | l.objid::bigint AS low) AS key
    WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted
      AND l.classid::bigint >> 16 = 17482
      AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
$$;
-- drop: DROP FUNCTION dms.held_floors();
