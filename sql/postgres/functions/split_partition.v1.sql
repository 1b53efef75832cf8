-- sql/postgres/functions/split_partition.v1.sql: option partitions: takes the next step of splitting a part of a journal at multiples of `versions`:
-- its rows are copied, batch_size at a time, into tables of their own, which then take its place. Call it in a transaction of its own.
-- Gives: step: copied, whole, waiting or split; copied, rows of this step. First call it without `readers` until it says whole; then with
-- them (queries/operate/open_transactions.sql), those that were open at that moment, until it says split.
-- No writer changes an event at or below the horizon, and a prune or a repair needs the lock that the caller has: so what was copied stays
-- right. A snapshot that was taken before the last copy would miss rows in the new tables: whoever had one must have ended before those take
-- the part's place.
CREATE FUNCTION dms.split_partition(journal text, partition text, versions bigint, batch_size bigint, readers text[])
RETURNS TABLE (step text, copied bigint)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET row_security = off
SET lock_timeout = '1500ms' SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off AS $$
DECLARE
    pieces jsonb := (SELECT jsonb_agg(to_jsonb(p)) FROM dms.pieces_of(journal, partition, versions) AS p);
    piece record;
    after record;
BEGIN
    IF NOT EXISTS (
        SELECT FROM dms.JournalPartition AS p
        WHERE p.Journal = split_partition.journal AND p.Partition = split_partition.partition AND p.HighVersion - 1 <= dms.horizon()
    ) THEN
        RAISE EXCEPTION 'dms.% has no part % whose versions are all at or below newest', journal, partition
            USING ERRCODE = 'DJ008', HINT = 'See dmsjournal partitions list.';
    END IF;
    copied := 0;
    FOR piece IN SELECT * FROM jsonb_to_recordset(pieces) AS p (low bigint, high bigint, name text, is_made boolean) LOOP
        IF NOT piece.is_made THEN
            PERFORM dms.make_partition(journal, piece.name);
            EXECUTE format('ALTER TABLE dms.%I ADD CONSTRAINT ck_piece CHECK (%sChangeVersion < %L)', piece.name,
                           'ChangeVersion >= ' || quote_literal(piece.low) || ' AND ', piece.high);
        END IF;
        IF readers IS NULL THEN
            EXECUTE format('SELECT ChangeVersion, DocumentId FROM dms.%I ORDER BY ChangeVersion DESC, DocumentId DESC LIMIT 1', piece.name) INTO after;
            EXECUTE format('INSERT INTO dms.%I SELECT * FROM dms.%I WHERE ChangeVersion >= $1 AND (ChangeVersion, DocumentId) > ($1, $2)'
                           ' AND ChangeVersion < $3 ORDER BY ChangeVersion, DocumentId LIMIT $4', piece.name, partition)
            USING coalesce(after.ChangeVersion, piece.low, -9223372036854775807 - 1), coalesce(after.DocumentId, -9223372036854775807 - 1),
                  piece.high, batch_size;
            GET DIAGNOSTICS copied = ROW_COUNT;
            IF copied > 0 THEN
                PERFORM pg_stat_force_next_flush();  -- else ANALYZE and the statistics count these rows twice
                step := 'copied';
                RETURN NEXT;
                RETURN;
            END IF;
        END IF;
    END LOOP;
    step := CASE WHEN readers IS NULL THEN 'whole'
                 WHEN dms.is_read_yet(readers) THEN 'waiting'
                 ELSE 'split' END;
    FOR piece IN SELECT * FROM jsonb_to_recordset(pieces) AS p (name text) WHERE step = 'whole' LOOP
        EXECUTE format('ANALYZE dms.%I', piece.name);  -- so that the first who read them have plans for what is there
    END LOOP;
    IF step = 'split' THEN
        EXECUTE format('LOCK TABLE ONLY dms.%I IN ACCESS EXCLUSIVE MODE', lower(journal));  -- the journal before its parts, as everybody does
        EXECUTE format('ALTER TABLE dms.%I DETACH PARTITION dms.%I', lower(journal), partition);
        EXECUTE format('DROP TABLE dms.%I', partition);
        FOR piece IN SELECT * FROM jsonb_to_recordset(pieces) AS p (low bigint, high bigint, name text) LOOP
            PERFORM dms.rename_partition(piece.name, format('%s_to_%s', lower(journal), piece.high));
            EXECUTE format('ALTER TABLE dms.%I ATTACH PARTITION dms.%I FOR VALUES FROM (%s) TO (%s)', lower(journal),
                           format('%s_to_%s', lower(journal), piece.high), coalesce(quote_literal(piece.low), 'MINVALUE'), quote_literal(piece.high));
            EXECUTE format('ALTER TABLE dms.%I DROP CONSTRAINT ck_piece', format('%s_to_%s', lower(journal), piece.high));
        END LOOP;
        PERFORM dms.note_partitions(journal, partition);
    END IF;
    RETURN NEXT;
END $$;
REVOKE EXECUTE ON FUNCTION dms.split_partition(text, text, bigint, bigint, text[]) FROM PUBLIC;
-- drop: DROP FUNCTION dms.split_partition(text, text, bigint, bigint, text[]);
