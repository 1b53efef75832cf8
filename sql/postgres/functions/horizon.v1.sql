-- sql/postgres/functions/horizon.v1.sql: the newest version at or below which every writer has finished (invariant 5).
-- The sequence first, the held floors second: a writer that was not seen takes its lock after the sequence was read, so its stamps
-- are above it; and a commit is visible before its locks go, so everything at or below the result is visible to a snapshot taken
-- afterwards. Hence: call it in a statement of its own, before the one that reads; never in a REPEATABLE READ transaction, whose
-- snapshot is older than the result (refused), and on the primary, since a standby does not see the locks (refused).
-- Waits for nobody.
CREATE FUNCTION dms.horizon() RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER  -- readers need no right on the sequence
SET search_path = pg_catalog, pg_temp SET row_security = off AS $$
DECLARE
    newest bigint;
    held bigint;
BEGIN
    IF pg_is_in_recovery() THEN
        RAISE EXCEPTION 'the horizon cannot be read on a standby: it does not see the writers'' locks'
            USING ERRCODE = 'DJ004', HINT = 'Read it on the primary.';
    END IF;
    IF EXISTS (SELECT FROM pg_subscription_rel AS s JOIN pg_class AS c ON c.oid = s.srrelid WHERE c.relnamespace = 'dms'::regnamespace) THEN
        RAISE EXCEPTION 'the horizon cannot be read where a subscription fills a table of schema dms: no trigger stamps its rows'
            USING ERRCODE = 'DJ004', HINT = 'Read it on the publisher.';
    END IF;
    IF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
        RAISE EXCEPTION 'the horizon cannot be read in a % transaction: its snapshot may be older', current_setting('transaction_isolation')
            USING ERRCODE = 'DJ001', HINT = 'Read it in a READ COMMITTED transaction that has ended before this one begins.';
    END IF;
    -- Read as a table: PostgreSQL 18's pg_sequence_last_value gives null where the right is missing, as it does for a fresh sequence.
    newest := (SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM dms.ChangeVersionSequence);
    held := (SELECT min(floor) FROM dms.held_floors());
    newest := least(newest, held);

    -- A crash must not take back what was reported. A committed event above a version has flushed the log that says the sequence has
    -- reached it; where only rolled-back stamps reached it, nobody has, and a restarted server could give them again. Then a message
    -- in the log makes this transaction flush it when it commits.
    -- (enter_change has seen to it that the commit waited for that.)
    -- The order is for the planner: for any version it expects a third of the table, and would look for the first of it in all of it.
    IF (SELECT ChangeVersion FROM dms.DocumentChangeEvent WHERE ChangeVersion >= newest ORDER BY ChangeVersion LIMIT 1) IS NULL
        AND (SELECT ChangeVersion FROM dms.DocumentDeleteEvent WHERE ChangeVersion >= newest ORDER BY ChangeVersion LIMIT 1) IS NULL
        AND pg_current_wal_flush_lsn() < pg_current_wal_insert_lsn() THEN
        PERFORM set_config('synchronous_commit', 'local', true) WHERE current_setting('synchronous_commit') = 'off';
        PERFORM pg_logical_emit_message(true, 'dmsjournal', 'horizon');
    END IF;
    RETURN newest;
END $$;
-- drop: DROP FUNCTION dms.horizon();
