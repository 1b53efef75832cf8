-- sql/postgres/functions/untrack.v1.sql: tracks a table no more. keep_documents: its documents stay as they are. Without it they are deleted,
-- each with its tombstone. Tables that refer to it lose their edges to it.
CREATE FUNCTION dms.untrack(table_name text, keep_documents boolean DEFAULT false) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET quote_all_identifiers = off SET row_security = off AS $$
DECLARE
    tracked    smallint;
    kind       smallint;
    gone       bigint[];
BEGIN
    PERFORM dms.begin_tracking();
    tracked := dms.tracked_id(table_name);
    kind := (SELECT t.ResourceKeyId FROM dms.TrackedTable AS t WHERE t.TrackedTableId = tracked);
    PERFORM dms.make_all_tracking(dms.tracked_neighbours(tracked), tracked);
    DELETE FROM dms.TrackedRekey WHERE TrackedTableId = tracked;
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
