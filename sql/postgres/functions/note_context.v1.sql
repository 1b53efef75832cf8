-- sql/postgres/functions/note_context.v1.sql: option context: keeps what the setting dmsjournal.context says for what this transaction stamps
-- from now on, until it says something else; what it stamped before the first one has it as well. The journals' own rows say what that is
-- (is_own_row.v1.sql): the setting dms.entered_at only says where to begin to look.
-- Fires: before insert, update and delete on dms.Document, once a statement, where the setting holds what was not noted yet (the trigger's
-- WHEN: who sets nothing pays nothing). dms.noted_context ends with the transaction, and with a rolled-back savepoint, as the row does; who
-- writes it mislabels changes of its own.
-- Whatever the setting holds, the user's write goes on: what is no JSON object, or longer than 3,900 bytes, is kept as its first 200
-- characters under "unreadable".
CREATE FUNCTION dms.note_context() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER  -- writers have no right on the contexts
SET search_path = pg_catalog, pg_temp SET row_security = off
SET enable_seqscan = off SET enable_bitmapscan = off AS $$  -- the kept plan of a session that began with none must not scan all
DECLARE
    setting text := current_setting('dmsjournal.context', true);
    newest bigint := (SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM dms.ChangeVersionSequence);
    entered bigint := nullif(current_setting('dms.entered_at', true), '');
    this_transaction bigint := pg_current_xact_id()::text;
    said jsonb;
    first bigint;
BEGIN
    IF octet_length(setting) <= 3900 THEN
        BEGIN
            said := setting;
        EXCEPTION WHEN OTHERS THEN
            said := NULL;
        END;
    END IF;
    IF jsonb_typeof(said) IS DISTINCT FROM 'object' THEN
        said := jsonb_build_object('unreadable', left(setting, 200));
    END IF;
    UPDATE dms.ChangeContext SET ThroughVersion = newest
    WHERE TransactionId = this_transaction
      AND AfterVersion = (SELECT AfterVersion FROM dms.ChangeContext  -- the last one: those before it, of this transaction too, are not looked at
                          WHERE TransactionId = this_transaction AND ThroughVersion IS NULL
                          ORDER BY TransactionId DESC, AfterVersion DESC LIMIT 1);
    IF NOT FOUND AND entered < newest THEN
        first := least(
            (SELECT ChangeVersion FROM dms.DocumentChangeEvent
             WHERE ChangeVersion > entered AND dms.is_own_row(TransactionId, xmin, this_transaction) ORDER BY ChangeVersion LIMIT 1),
            (SELECT ChangeVersion FROM dms.DocumentDeleteEvent
             WHERE ChangeVersion > entered AND dms.is_own_row(TransactionId, xmin, this_transaction) ORDER BY ChangeVersion LIMIT 1));
    END IF;
    INSERT INTO dms.ChangeContext (TransactionId, AfterVersion, ThroughVersion, CreatedAt, Context)
    VALUES (this_transaction, coalesce(first - 1, newest), NULL, clock_timestamp(), said)
    ON CONFLICT (TransactionId, AfterVersion) DO UPDATE SET ThroughVersion = NULL, Context = excluded.Context;  -- nothing was stamped between
    PERFORM set_config('dms.noted_context', setting, true);
    RETURN NULL;
END $$;
REVOKE EXECUTE ON FUNCTION dms.note_context() FROM PUBLIC;  -- else a temporary table with this trigger forges contexts
-- drop: DROP FUNCTION dms.note_context();
