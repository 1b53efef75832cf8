-- sql/postgres/functions/untrack.v1.sql: tracks a table no more. keep_documents: its documents stay as they are. Without it they are deleted,
-- each with its tombstone. Tables that refer to it lose their edges to it.
CREATE FUNCTION dms.untrack(table_name text, keep_documents boolean DEFAULT false) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET quote_all_identifiers = off SET row_security = off AS $$
DECLARE
    tracked    smallint;
    neighbours smallint[];
    kind       smallint;
    gone       bigint[];
BEGIN
    PERFORM dms.begin_tracking();
    tracked := dms.tracked_id(table_name);
    neighbours := dms.tracked_neighbours(tracked);  -- nothing tells them once it has gone
    PERFORM dms.drop_tracking(tracked);
    DELETE FROM dms.TrackedTable AS t WHERE t.TrackedTableId = tracked RETURNING t.ResourceKeyId INTO kind;
    PERFORM dms.make_all_tracking(neighbours);
    IF keep_documents THEN
        RETURN;
    END IF;
    LOOP
        gone := ARRAY(SELECT d.DocumentId FROM dms.Document AS d WHERE d.ResourceKeyId = kind ORDER BY d.ResourceKeyId, d.DocumentId LIMIT 10000);
        EXIT WHEN gone = '{}';
        DELETE FROM dms.ReferenceEdge WHERE ChildDocumentId = ANY (gone);
        DELETE FROM dms.Document WHERE DocumentId = ANY (gone);
    END LOOP;
END $$;
REVOKE EXECUTE ON FUNCTION dms.untrack(text, boolean) FROM PUBLIC;
-- drop: DROP FUNCTION dms.untrack(text, boolean);
