-- sql/postgres/functions/enter_change.v1.sql: enters the transaction among the writers; returns its floor F, below all of its stamps.
-- Before the first stamp: reads the sequence, then takes a shared advisory lock whose key carries F and which ends with the
-- transaction, then remembers F in a setting that ends with it too (a rolled-back savepoint forgets both together). Whoever reads
-- the horizon stays at or below F until then (invariant 5).
-- A session can write the setting, so each call takes the lock on it again (re-entrant, no second entry) and refuses a value that
-- the sequence has not reached: stamps drawn afterwards are above it whatever it is.
-- A commit is not visible before it is flushed, whatever the session's synchronous_commit: a crash would take back a version that was
-- reported, and the sequence would give it again (horizon.v1.sql).
-- Where the sequence moved before the lock was there, a higher horizon may have been reported: the lock is let go of, by rolling back
-- a subtransaction, and taken anew, so that newest does not fall. Not for ever: an old floor is right, only lower than it need be.
-- Key: 0x444A ('DJ') in the top 16 bits, F in the low 48; from 2^47 up F is rounded down to a multiple of 2^16, which holds the
-- horizon a little lower than needed and is never wrong. Inverse: held_floors.v1.sql. Same lock inline: stamp_update.v1.sql.
-- No SET clause, for stamp_update's sake: every name, type and operator is qualified, so that no search_path changes it.
CREATE FUNCTION dms.enter_change() RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER AS $$  -- writers need no right on the sequence
DECLARE
    newest  bigint          := pg_catalog.pg_sequence_last_value('dms.changeversionsequence');
    entered pg_catalog.text := pg_catalog.current_setting('dms.entered_at', true);
    floor   bigint;
    locked  boolean;
BEGIN
    IF newest IS NULL THEN  -- a fresh sequence, or no right on it: the latter is refused here
        newest := (SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM dms.ChangeVersionSequence);
    END IF;
    floor := newest;
    IF pg_catalog.length(entered) OPERATOR(pg_catalog.>) 0 THEN
        floor := entered;
        IF floor OPERATOR(pg_catalog.<) 0 OR floor OPERATOR(pg_catalog.>) newest THEN
            RAISE EXCEPTION 'dms.entered_at holds %, which no transaction can have entered at', floor
                USING ERRCODE = 'DJ003', HINT = 'The setting belongs to dmsjournal: roll back, and do not write it.';
        END IF;
        locked := pg_catalog.pg_advisory_xact_lock_shared(4920745542855688192 OPERATOR(pg_catalog.+)
            CASE WHEN floor OPERATOR(pg_catalog.<) 140737488355328 THEN floor
                 ELSE 140737488355328 OPERATOR(pg_catalog.+) (floor OPERATOR(pg_catalog.>>) 16) END) IS NOT NULL;
        RETURN floor;
    END IF;
    FOR attempt IN 1..20 LOOP
        BEGIN
            locked := pg_catalog.pg_advisory_xact_lock_shared(4920745542855688192 OPERATOR(pg_catalog.+)
                CASE WHEN floor OPERATOR(pg_catalog.<) 140737488355328 THEN floor
                     ELSE 140737488355328 OPERATOR(pg_catalog.+) (floor OPERATOR(pg_catalog.>>) 16) END) IS NOT NULL;
            newest := COALESCE(pg_catalog.pg_sequence_last_value('dms.changeversionsequence'), newest);
            EXIT WHEN newest OPERATOR(pg_catalog.=) floor OR attempt OPERATOR(pg_catalog.=) 20;
            RAISE SQLSTATE 'DJ007';
        EXCEPTION WHEN SQLSTATE 'DJ007' THEN
            floor := newest;
        END;
    END LOOP;
    entered := pg_catalog.set_config('dms.entered_at', floor::pg_catalog.text, true);
    IF pg_catalog.current_setting('synchronous_commit') OPERATOR(pg_catalog.=) 'off' THEN
        entered := pg_catalog.set_config('synchronous_commit', 'local', true);
    END IF;
    RETURN floor;
END $$;
REVOKE EXECUTE ON FUNCTION dms.enter_change() FROM PUBLIC;  -- else a reader holds the horizon back
-- drop: DROP FUNCTION dms.enter_change();
