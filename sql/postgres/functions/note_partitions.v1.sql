-- sql/postgres/functions/note_partitions.v1.sql: option partitions: lists the parts that a journal has now (tables/KnownPartition.v1.sql), and forgets
-- the one that has gone on purpose; null for none. Runs in the transaction that changes them.
CREATE FUNCTION dms.note_partitions(journal text, gone text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET row_security = off AS $$
BEGIN
    DELETE FROM dms.KnownPartition AS known WHERE known.Journal = note_partitions.journal AND known.Partition = gone;
    INSERT INTO dms.KnownPartition (Journal, Partition, LowVersion, HighVersion)
    SELECT p.Journal, p.Partition, p.LowVersion, p.HighVersion FROM dms.JournalPartition AS p WHERE p.Journal = note_partitions.journal
    ON CONFLICT ON CONSTRAINT PK_KnownPartition DO NOTHING;
END $$;
REVOKE EXECUTE ON FUNCTION dms.note_partitions(text, text) FROM PUBLIC;
-- drop: DROP FUNCTION dms.note_partitions(text, text);
