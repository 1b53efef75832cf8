-- sql/postgres/functions/renew_tracking.v1.sql: takes in what has changed about a tracked table: columns, its name, its partitions, foreign keys, and
-- what was dropped or disabled. Rows that came meanwhile past the triggers are
-- taken in by the fill that follows (fill_tracked).
-- unseen: rows may have changed past the triggers, so the fill stamps every document. It also does where a trigger was missing or off, and where rows
-- read otherwise now (make_tracking).
-- trust: the roles whose code can run with the installing role's rights now are trusted, besides those that track was told of (check_trusted.v1.sql).
CREATE FUNCTION dms.renew_tracking(table_name text, unseen boolean DEFAULT false, trust boolean DEFAULT false) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET quote_all_identifiers = off SET row_security = off AS $$
DECLARE
    tracked_id smallint := dms.tracked_id(table_name);
    seen       boolean;
    lost       name;
BEGIN
    PERFORM dms.begin_tracking();
    IF dms.tracked_relation(tracked_id) IS NULL THEN
        RAISE EXCEPTION 'table % is not there any more', table_name
            USING ERRCODE = 'DJ004', HINT = 'Run dmsjournal untrack with it: its documents go, and their tombstones say so.';
    END IF;
    -- In a restored database the columns may have other numbers: a column that has another name by now could be any.
    SELECT c INTO lost
    FROM dms.TrackedTable AS t CROSS JOIN LATERAL unnest(t.ShownColumns || t.WatchedColumns) AS c
    WHERE t.TrackedTableId = tracked_id AND t.RelationId <> dms.tracked_relation(tracked_id)
      AND NOT EXISTS (SELECT FROM pg_attribute AS a WHERE a.attrelid = dms.tracked_relation(tracked_id) AND a.attname = c AND a.attnum > 0 AND NOT a.attisdropped)
    LIMIT 1;
    IF lost IS NOT NULL THEN
        RAISE EXCEPTION 'column % of table % is gone or has another name since the database was restored: which one it is now cannot be told', quote_ident(lost), table_name
            USING ERRCODE = 'DJ004', HINT = 'Run dmsjournal untrack --keep-documents, then dmsjournal track with --shows and --columns as the columns are called now.';
    END IF;
    IF trust THEN
        UPDATE dms.TrackedTable AS t
        SET TrustedRoles = ARRAY(SELECT unnest(t.TrustedRoles) UNION SELECT o.role FROM dms.tracked_owners(dms.tracked_relation(tracked_id)) AS o ORDER BY 1)
        WHERE t.TrackedTableId = tracked_id;
    END IF;
    PERFORM dms.check_trackable(dms.tracked_relation(tracked_id), t.KeyName, t.TrustedRoles) FROM dms.TrackedTable AS t WHERE t.TrackedTableId = tracked_id;
    -- What a table lost while a trigger was gone or off, or in a partition that had none, nobody saw: all of its documents are stamped.
    seen := NOT EXISTS (SELECT FROM dms.tracking_of(tracked_id) AS o
                        WHERE o.kind = 'trigger' AND dms.tracked_state(o.kind, o.name, o.relation, o.type, o.source) <> 'ok');
    DELETE FROM dms.TrackedRekey WHERE TrackedTableId = tracked_id;  -- of statements on a partition that had no trigger a statement
    PERFORM dms.make_all_tracking(tracked_id || dms.tracked_neighbours(tracked_id));
    UPDATE dms.TrackedTable AS t
    SET FilledAt = NULL, FilledBlocks = 0, FilledRows = 0, FilledDocument = NULL, IsLinked = false, IsCurrent = t.IsCurrent AND seen AND NOT unseen
    WHERE t.TrackedTableId = tracked_id;
END $$;
REVOKE EXECUTE ON FUNCTION dms.renew_tracking(text, boolean, boolean) FROM PUBLIC;
-- drop: DROP FUNCTION dms.renew_tracking(text, boolean, boolean);
