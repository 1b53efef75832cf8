-- sql/postgres/functions/close_partition.v1.sql: option partitions: the next step of making a part with bounds out of a journal's default part, which
-- then is empty again. Returns the step. The rows stay where they are, and writers go on, but for a moment at the last step. That adds the next
-- part as well, of `versions` versions at least: what is written then must not land in the default part at once.
--
-- PostgreSQL takes it from a validated CHECK alone that a table has no row outside of bounds; else it reads the table while everybody waits. A
-- CHECK with the bounds could refuse a write that comes before they are in force. So it asks two functions, which say that everything is
-- allowed while the rows are read, and which tell the bounds in the one transaction that holds the journal, has looked at both ends of its
-- primary key, and takes CHECK and functions away again.
CREATE FUNCTION dms.close_partition(journal text, versions bigint) RETURNS text
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET row_security = off AS $$
DECLARE
    rest text := lower(journal) || '_default';
    is_read boolean := (SELECT c.convalidated FROM pg_constraint AS c
                        WHERE c.conrelid = format('dms.%I', lower(journal) || '_default')::regclass AND c.conname = 'ck_bounds');
    -- In such a body nothing is looked up, so the search_path of whoever writes does not matter; a SET clause would be paid on each row.
    bound text := 'CREATE OR REPLACE FUNCTION dms.%I() RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE AS %L';
    says text := 'SELECT bigint %L';
    low bigint;
    high bigint;
    lowest bigint;
    newest bigint;
    next numeric;  -- versions end at 2^63 - 1
    name text;
BEGIN
    IF is_read IS NULL THEN
        EXECUTE format(bound, lower(journal) || '_from', format(says, '-9223372036854775808'));
        EXECUTE format(bound, lower(journal) || '_through', format(says, '9223372036854775807'));
        EXECUTE format('ALTER TABLE dms.%I ADD CONSTRAINT ck_bounds CHECK (ChangeVersion >= dms.%I() AND ChangeVersion <= dms.%I()) NOT VALID',
                       rest, lower(journal) || '_from', lower(journal) || '_through');
        RETURN 'reading';
    ELSIF NOT is_read THEN
        EXECUTE format('ALTER TABLE dms.%I VALIDATE CONSTRAINT ck_bounds', rest);
        RETURN 'read';
    END IF;
    EXECUTE format('LOCK TABLE ONLY dms.%I IN ACCESS EXCLUSIVE MODE', lower(journal));  -- the journal before its parts, as everybody does
    EXECUTE format('LOCK TABLE dms.%I IN ACCESS EXCLUSIVE MODE', rest);
    low := (SELECT max(p.HighVersion) FROM dms.JournalPartition AS p WHERE p.Journal = close_partition.journal);
    -- Below the lowest part is what was pruned: a row that came back there is removed, as verify --repair does.
    EXECUTE format('DELETE FROM dms.%I WHERE ChangeVersion < $1 AND ChangeVersion <= $2', rest)
    USING low, (SELECT f.ChangeVersion FROM dms.JournalFloor AS f WHERE f.Journal = close_partition.journal);
    EXECUTE format('SELECT min(ChangeVersion), max(ChangeVersion) FROM dms.%I', rest) INTO lowest, newest;
    IF lowest < low THEN
        RAISE EXCEPTION 'dms.% holds version %, below its lowest part and above its floor', rest, lowest
            USING ERRCODE = 'DJ008', HINT = 'It was written past the triggers: see docs/operator/verify.md.';
    END IF;
    high := greatest(newest, (SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM dms.ChangeVersionSequence)) + 1;
    name := format('%s_to_%s', lower(journal), high);
    EXECUTE format(bound, lower(journal) || '_from', format(says, coalesce(low::text, '-9223372036854775808')));
    EXECUTE format(bound, lower(journal) || '_through', format(says, high - 1));
    EXECUTE format('ALTER TABLE dms.%I DETACH PARTITION dms.%I', lower(journal), rest);
    PERFORM dms.rename_partition(rest, name);
    EXECUTE format('ALTER TABLE dms.%I ATTACH PARTITION dms.%I FOR VALUES FROM (%s) TO (%s)', lower(journal), name,
                   coalesce(quote_literal(low), 'MINVALUE'), quote_literal(high));
    EXECUTE format('ALTER TABLE dms.%I DROP CONSTRAINT ck_bounds', name);
    PERFORM dms.make_partition(journal, rest);
    next := (div(high::numeric, versions) + 2) * versions;
    IF next < 9223372036854775807 THEN
        PERFORM dms.make_partition(journal, format('%s_to_%s', lower(journal), next));
        EXECUTE format('ALTER TABLE dms.%I ATTACH PARTITION dms.%I FOR VALUES FROM (%s) TO (%s)', lower(journal),
                       format('%s_to_%s', lower(journal), next), quote_literal(high), quote_literal(next::bigint));
    END IF;
    EXECUTE format('ALTER TABLE dms.%I ATTACH PARTITION dms.%I DEFAULT', lower(journal), rest);
    PERFORM dms.forget_bounds(journal);
    PERFORM dms.note_partitions(journal, NULL);
    RETURN 'closed ' || name;
END $$;
REVOKE EXECUTE ON FUNCTION dms.close_partition(text, bigint) FROM PUBLIC;
-- drop: DROP FUNCTION dms.close_partition(text, bigint);
