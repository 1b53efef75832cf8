-- sql/postgres/functions/begin_split.v1.sql: option partitions: what an earlier split has copied of a part, and is not as it would be copied now, goes:
-- pieces of other sizes, of a part that is gone, or of which a prune or a repair has taken rows since. Returns the number of pieces: below
-- two there is nothing to split; of more than 1,000, which the caller refuses, none is made or looked for. Reads what was copied once.
CREATE FUNCTION dms.begin_split(journal text, partition text, versions bigint) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET row_security = off SET lock_timeout = '1500ms'
SET quote_all_identifiers = off AS $$  -- definitions are compared as the server prints them
DECLARE
    seen record;
    is_same boolean;
    has_rest boolean;
    pieces bigint;
BEGIN
    EXECUTE format('SELECT EXISTS (SELECT FROM dms.%I)', lower(journal) || '_default') INTO has_rest;
    IF has_rest THEN
        RAISE EXCEPTION 'the default part of dms.% holds events', journal USING ERRCODE = 'DJ008', HINT = 'Run dmsjournal partitions ensure first.';
    END IF;
    EXECUTE format('SELECT coalesce(($1 - 1) / $2 - min(ChangeVersion) / $2 + 1, 0) FROM dms.%I', partition) INTO pieces
    USING (SELECT p.HighVersion FROM dms.JournalPartition AS p WHERE p.Journal = begin_split.journal AND p.Partition = begin_split.partition), versions;
    IF pieces > 1000 THEN  -- where a sequence was set far ahead there may be billions
        RETURN pieces;
    END IF;
    FOR seen IN
        SELECT c.relname AS name, piece.low, piece.high
        FROM pg_class AS c LEFT JOIN dms.pieces_of(journal, partition, versions) AS piece ON piece.name = c.relname
        WHERE c.relnamespace = 'dms'::regnamespace AND c.relkind = 'r' AND NOT c.relispartition
          AND c.relname ~ ('^' || lower(journal) || '_split_\d+$')
    LOOP
        is_same := false;
        IF seen.high IS NOT NULL THEN
            EXECUTE format(
                'SELECT (SELECT count(*) FROM dms.%1$I)'
                ' = (SELECT count(*) FROM dms.%2$I WHERE ChangeVersion >= $1 AND ChangeVersion <= (SELECT max(ChangeVersion) FROM dms.%1$I)'
                '    AND (ChangeVersion, DocumentId) <= (SELECT ChangeVersion, DocumentId FROM dms.%1$I ORDER BY ChangeVersion DESC, DocumentId DESC LIMIT 1))'
                ' AND EXISTS (SELECT FROM pg_constraint WHERE conrelid = ''dms.%1$I''::regclass AND conname = ''ck_piece'' AND pg_get_constraintdef(oid) = $2)',
                seen.name, partition)
            INTO is_same
            USING coalesce(seen.low, -9223372036854775807 - 1),
                  CASE WHEN seen.low IS NULL THEN format('CHECK ((changeversion < ''%s''::bigint))', seen.high)
                       ELSE format('CHECK (((changeversion >= ''%s''::bigint) AND (changeversion < ''%s''::bigint)))', seen.low, seen.high) END;
        END IF;
        IF is_same IS NOT TRUE THEN
            EXECUTE format('DROP TABLE dms.%I', seen.name);
        END IF;
    END LOOP;
    RETURN pieces;
END $$;
REVOKE EXECUTE ON FUNCTION dms.begin_split(text, text, bigint) FROM PUBLIC;
-- drop: DROP FUNCTION dms.begin_split(text, text, bigint);
