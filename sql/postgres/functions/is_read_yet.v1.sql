-- sql/postgres/functions/is_read_yet.v1.sql: option partitions: whether one of `readers` (queries/operate/open_transactions.sql) is open, or somebody
-- has a snapshot as old as theirs: a transaction that began later may have adopted one that an older one had exported. Who has which
-- snapshot is shown to the owner of this function only where he may see it (pg_read_all_stats, a superuser): docs/how-it-works.md, Partitions.
CREATE FUNCTION dms.is_read_yet(readers text[]) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET row_security = off AS $$
    SELECT EXISTS (SELECT FROM pg_locks AS l WHERE l.locktype = 'virtualxid' AND l.virtualxid = ANY (readers))
        OR EXISTS (
            SELECT FROM pg_stat_activity AS a, unnest(readers) AS reader
            WHERE reader LIKE 'before %' AND a.datname = current_database() AND a.usesysid IS NOT NULL AND a.pid <> pg_backend_pid()
              AND age(a.backend_xmin) > age(CAST(CAST(substr(reader, 8) AS xid8) AS xid)))
$$;
REVOKE EXECUTE ON FUNCTION dms.is_read_yet(text[]) FROM PUBLIC;
-- drop: DROP FUNCTION dms.is_read_yet(text[]);
