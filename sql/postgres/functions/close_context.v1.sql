-- sql/postgres/functions/close_context.v1.sql: option context: the transaction has stamped all it will: its last context reaches to the sequence's
-- value, and no further. One that stamped nothing leaves nothing.
-- Fires: after insert on dms.ChangeContext, each row, when the transaction commits. Where a writer lets it fire before (SET CONSTRAINTS), what
-- it stamps afterwards under the same context has none.
CREATE FUNCTION dms.close_context() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET row_security = off
SET enable_seqscan = off SET enable_bitmapscan = off AS $$
BEGIN
    IF coalesce(current_setting('dms.entered_at', true), '') = '' THEN
        DELETE FROM dms.ChangeContext WHERE TransactionId = NEW.TransactionId AND AfterVersion = NEW.AfterVersion;
    ELSE
        UPDATE dms.ChangeContext SET ThroughVersion = (SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM dms.ChangeVersionSequence)
        WHERE TransactionId = NEW.TransactionId AND AfterVersion = NEW.AfterVersion AND ThroughVersion IS NULL;
    END IF;
    RETURN NULL;
END $$;
REVOKE EXECUTE ON FUNCTION dms.close_context() FROM PUBLIC;  -- else a temporary table with this trigger forges contexts
-- drop: DROP FUNCTION dms.close_context();
