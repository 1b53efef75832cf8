-- sql/postgres/functions/fill_tracked.v1.sql: one batch of a fill, in a transaction of its own; call it until it gives no row.
-- Passes over the table's blocks make documents for rows that have none, until one finds no such row: a row that a writer had locked, or moved, comes
-- with the next one. The last pass is over the documents (sweep, tracking_of.v1.sql). A run that is killed goes on from its last batch.
-- Gives: pass (rows or documents), done of total (blocks; documents are not counted: 0 of 0), made (documents).
CREATE FUNCTION dms.fill_tracked(table_name text, blocks integer DEFAULT 16) RETURNS TABLE (pass text, done bigint, total bigint, made bigint)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET row_security = off AS $$
DECLARE
    tracked record;
    passed  bigint;
    last    bigint;
BEGIN
    SELECT t.* INTO tracked FROM dms.TrackedTable AS t WHERE t.TrackedTableId = dms.tracked_id(table_name) FOR NO KEY UPDATE;
    IF tracked.FilledAt IS NOT NULL THEN
        RETURN;
    END IF;
    PERFORM dms.check_trusted(dms.tracked_relation(tracked.TrackedTableId), tracked.TrustedRoles);
    IF tracked.FilledDocument IS NOT NULL THEN
        pass := 'documents';
        done := 0;
        total := 0;
        made := 0;
        EXECUTE format('SELECT dms.tracked_%s_sweep($1, $2, $3)', tracked.TrackedTableId) INTO last
            USING tracked.FilledDocument, tracked.IsLinked, tracked.IsCurrent;
        UPDATE dms.TrackedTable AS t
        SET FilledDocument = last, FilledBlocks = CASE WHEN last IS NULL THEN 0 ELSE t.FilledBlocks END, IsLinked = t.IsLinked OR last IS NULL,
            IsCurrent = t.IsCurrent OR last IS NULL, FilledAt = CASE WHEN last IS NULL THEN clock_timestamp() END
        WHERE t.TrackedTableId = tracked.TrackedTableId;
        RETURN NEXT;
        RETURN;
    END IF;
    pass := 'rows';
    WITH RECURSIVE part AS (
        SELECT dms.tracked_relation(tracked.TrackedTableId) AS id
        UNION
        SELECT h.inhrelid FROM part AS p JOIN pg_inherits AS h ON h.inhparent = p.id
    )
    SELECT max(pg_relation_size(p.id) / current_setting('block_size')::bigint) INTO total FROM part AS p;
    done := tracked.FilledBlocks + blocks;
    EXECUTE format('SELECT f.made, f.passed FROM dms.tracked_%s_fill($1, $2) AS f', tracked.TrackedTableId) INTO made, passed USING tracked.FilledBlocks, done;
    UPDATE dms.TrackedTable AS t
    SET FilledBlocks = CASE WHEN done < total THEN done ELSE 0 END,
        FilledRows = CASE WHEN done < total THEN t.FilledRows + made + passed ELSE 0 END,
        FilledDocument = CASE WHEN done >= total AND t.FilledRows + made + passed = 0 THEN -9223372036854775808 END
    WHERE t.TrackedTableId = tracked.TrackedTableId;
    done := least(done, total);
    RETURN NEXT;
END $$;
REVOKE EXECUTE ON FUNCTION dms.fill_tracked(text, integer) FROM PUBLIC;
-- drop: DROP FUNCTION dms.fill_tracked(text, integer);
