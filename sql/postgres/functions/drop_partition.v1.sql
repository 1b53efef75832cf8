-- sql/postgres/functions/drop_partition.v1.sql: option partitions: drops a part of a journal that lies at or below its floor, in a time that does
-- not depend on its rows. Returns whether it is gone; false while a transaction of `readers` (queries/operate/open_transactions.sql, after the floor was raised and
-- committed) is open. lock_not_available where the journal is being read: the caller tries again, nobody queues behind it for long.
-- A dropped table is gone for every snapshot, also for one that shows the floor of before, in which rows would be missing without a word
-- (invariant 8). So the floor rises first, and what may have looked before must have ended. Whoever looks later sees the floor.
-- Its rights are the owner's, for a pruner: a role that has logged in, may delete the journal's events and may execute this drops a part of them.
-- Roles that prune already get the right here, roles that come later by grants.sql.
CREATE FUNCTION dms.drop_partition(journal text, partition text, readers text[]) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET row_security = off
SET lock_timeout = '100ms' AS $$
DECLARE
    high bigint;
    floor bigint;
    is_bare boolean;
BEGIN
    IF NOT has_table_privilege(session_user, format('dms.%I', lower(journal)), 'DELETE') THEN
        RAISE EXCEPTION 'permission denied for table %', lower(journal) USING ERRCODE = 'insufficient_privilege';
    END IF;
    SELECT p.HighVersion INTO high FROM dms.JournalPartition AS p
    WHERE p.Journal = drop_partition.journal AND p.Partition = drop_partition.partition AND NOT p.IsDefault;
    IF NOT FOUND THEN
        RETURN true;
    END IF;
    SELECT f.ChangeVersion INTO floor FROM dms.JournalFloor AS f WHERE f.Journal = drop_partition.journal;
    IF floor IS NULL OR high - 1 > floor THEN
        RAISE EXCEPTION 'part % of dms.% reaches to version %, above its floor %', partition, journal, high - 1, floor
            USING ERRCODE = 'DJ005', HINT = 'Use dmsjournal prune: it raises the floor first.';
    END IF;
    IF dms.is_read_yet(readers) THEN
        RETURN false;
    END IF;
    EXECUTE format('LOCK TABLE ONLY dms.%I IN ACCESS EXCLUSIVE MODE', lower(journal));  -- the journal before its parts, as everybody does
    EXECUTE format('ALTER TABLE dms.%I DETACH PARTITION dms.%I', lower(journal), partition);
    EXECUTE format('DROP TABLE dms.%I', partition);
    PERFORM dms.note_partitions(journal, partition);
    -- In the index's order, as the planner might else look for such a row in all of the journal, which is locked.
    EXECUTE format('SELECT (SELECT ChangeVersion FROM dms.%I WHERE ChangeVersion <= $1 ORDER BY ChangeVersion LIMIT 1) IS NULL', lower(journal))
        INTO is_bare USING floor;
    IF is_bare THEN  -- from here on a row down there contradicts the floor
        UPDATE dms.JournalFloor AS f SET PrunedAt = clock_timestamp() WHERE f.Journal = drop_partition.journal;
    END IF;
    RETURN true;
END $$;
REVOKE EXECUTE ON FUNCTION dms.drop_partition(text, text, text[]) FROM PUBLIC;
DO $$
DECLARE
    pruner regrole;
BEGIN
    FOR pruner IN
        SELECT acl.grantee FROM pg_class AS c CROSS JOIN LATERAL aclexplode(c.relacl) AS acl
        WHERE c.oid = 'dms.DocumentChangeEvent'::regclass AND acl.privilege_type = 'DELETE' AND acl.grantee NOT IN (0, c.relowner)
    LOOP
        EXECUTE format('GRANT EXECUTE ON FUNCTION dms.drop_partition(text, text, text[]) TO %s', pruner);
    END LOOP;
END $$;
-- drop: DROP FUNCTION dms.drop_partition(text, text, text[]);
