-- sql/postgres/functions/ensure_partitions.v1.sql: option partitions: takes the next step, if there is one, towards journals whose default part is
-- empty, and which have parts for the next ahead * versions versions. One row tells the step, none that there is nothing left to do. Call it
-- in a transaction of its own, again and again; whatever step it ended after, the next call goes on.
-- The bounds of the parts that it adds are multiples of `versions`, so that they do not depend on when it was called.
-- An attached part costs a look at the default one, which is empty then, and holds that for the moment. A writer whose event is on its way into
-- the default part while its version gets a part of its own would be refused by the server. So nobody may be writing where stamps come near
-- the new part; far ahead of them writers go on.
CREATE FUNCTION dms.ensure_partitions(versions bigint, ahead integer) RETURNS TABLE (journal text, step text)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET row_security = off
SET lock_timeout = '1500ms' AS $$  -- above deadlock_timeout, after which an autovacuum gives way
DECLARE
    near constant bigint := 1000000;  -- versions: more than are given while a part is attached
    is_near boolean;
    has_rest boolean;
    low numeric;  -- versions end at 2^63 - 1
    high numeric;
    name text;
    missing text;
    newest numeric := (SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM dms.ChangeVersionSequence);
BEGIN
    FOREACH journal IN ARRAY ARRAY['DocumentChangeEvent', 'IdentityChangeEvent', 'KeyChangeEvent', 'DocumentDeleteEvent'] LOOP
        SELECT min(known.Partition) INTO missing FROM dms.KnownPartition AS known  -- a new part in its place would hide that it is gone
        WHERE known.Journal = ensure_partitions.journal
          AND known.HighVersion - 1 > (SELECT f.ChangeVersion FROM dms.JournalFloor AS f WHERE f.Journal = ensure_partitions.journal)
          AND NOT EXISTS (SELECT FROM dms.JournalPartition AS p WHERE p.Journal = known.Journal AND p.Partition = known.Partition);
        IF missing IS NOT NULL THEN
            RAISE EXCEPTION 'part % of dms.% was detached or dropped by hand', missing, journal
                USING ERRCODE = 'DJ008', HINT = 'Attach it again, or run dmsjournal verify --repair.';
        END IF;
        IF NOT EXISTS (SELECT FROM dms.JournalPartition AS p WHERE p.Journal = ensure_partitions.journal AND p.IsDefault) THEN
            name := lower(journal) || '_default';  -- somebody took it: without it a version that is in no part is refused
            step := 'added ' || name;
            IF to_regclass(format('dms.%I', name)) IS NULL THEN
                PERFORM dms.make_partition(journal, name);
                PERFORM dms.enter_change();  -- what it held is gone: whoever goes on from before now is told to read in full
                UPDATE dms.JournalFloor AS f SET ChangeVersion = nextval('dms.ChangeVersionSequence'), PrunedAt = NULL
                WHERE f.Journal = ensure_partitions.journal;
                step := step || ', and raised the floor: it was dropped with what it held';
            END IF;
            EXECUTE format('ALTER TABLE dms.%I ATTACH PARTITION dms.%I DEFAULT', lower(journal), name);
            RETURN NEXT;
            RETURN;
        END IF;
        EXECUTE format('SELECT EXISTS (SELECT FROM dms.%I)', lower(journal) || '_default') INTO has_rest;
        IF has_rest THEN
            step := dms.close_partition(journal, versions);
            RETURN NEXT;
            RETURN;
        END IF;
        low := (SELECT max(p.HighVersion) FROM dms.JournalPartition AS p WHERE p.Journal = ensure_partitions.journal);
        high := (div(greatest(low, newest + 1), versions) + 1) * versions;
        IF (low IS NULL OR low <= newest + ahead * versions::numeric) AND high < 9223372036854775807 THEN  -- what is left is the default part's
            name := format('%s_to_%s', lower(journal), high);
            BEGIN
                is_near := low IS NULL OR low <= newest + near;
                IF is_near THEN
                    EXECUTE format('LOCK TABLE ONLY dms.%I IN SHARE ROW EXCLUSIVE MODE', lower(journal));
                END IF;
                PERFORM dms.make_partition(journal, name);
                EXECUTE format('ALTER TABLE dms.%I ATTACH PARTITION dms.%I FOR VALUES FROM (%s) TO (%s)', lower(journal), name,
                               coalesce(quote_literal(low::bigint), 'MINVALUE'), quote_literal(high::bigint));
                IF NOT is_near AND low <= (SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM dms.ChangeVersionSequence) + near / 2 THEN
                    RAISE EXCEPTION 'stamps have come near' USING ERRCODE = 'lock_not_available';  -- again, with the lock
                END IF;
                PERFORM dms.note_partitions(journal, NULL);
                step := 'added ' || name;
            EXCEPTION WHEN check_violation THEN  -- a writer was faster: its event is in the default part
                step := dms.close_partition(journal, versions);
            END;
            RETURN NEXT;
            RETURN;
        END IF;
    END LOOP;
END $$;
REVOKE EXECUTE ON FUNCTION dms.ensure_partitions(bigint, integer) FROM PUBLIC;
-- drop: DROP FUNCTION dms.ensure_partitions(bigint, integer);
