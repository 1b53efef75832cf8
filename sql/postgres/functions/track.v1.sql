-- sql/postgres/functions/track.v1.sql: tracks a table: each row is a document from now on, each foreign key to or from a tracked table an edge.
-- The rows that are there already come by fill_tracked, which is called until it gives 0. Arguments (docs/dba/track.md):
-- table_name: with its schema, quoted as SQL. project, resource, version: the resource; the schema's and the table's name and 1 without them.
-- shows: what referring rows show of a row, besides its key and what foreign keys refer to. columns: what is watched; all without it.
-- key: a unique constraint in place of the primary key. bodies: keep each row as JSON in dms.DocumentCache. trust: see check_trackable.v1.sql.
CREATE FUNCTION dms.track(
    table_name text, project text DEFAULT NULL::text, resource text DEFAULT NULL::text, version text DEFAULT '1'::text, shows name[] DEFAULT NULL::name[],
    columns name[] DEFAULT NULL::name[], key name DEFAULT NULL::name, bodies boolean DEFAULT false, trust boolean DEFAULT false)
RETURNS smallint
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET quote_all_identifiers = off SET row_security = off AS $$
DECLARE
    relation  oid;
    tracked   smallint;
BEGIN
    PERFORM dms.begin_tracking();
    relation := dms.note_tracked(table_name, project, resource, version, shows, columns, key, bodies, trust);
    SELECT t.TrackedTableId INTO tracked FROM dms.TrackedTable AS t WHERE t.RelationId = relation;
    PERFORM dms.make_all_tracking(tracked || dms.tracked_neighbours(tracked));
    -- Tables that refer to this one have edges to make: their fills go over them once more.
    UPDATE dms.TrackedTable AS t SET FilledAt = NULL, FilledBlocks = 0, FilledRows = 0, FilledDocument = NULL, IsLinked = false
    WHERE t.TrackedTableId <> tracked AND EXISTS (SELECT FROM dms.tracked_references(tracked) AS f WHERE f.parent_id = t.TrackedTableId AND f.child_id = tracked);
    RETURN tracked;
END $$;
REVOKE EXECUTE ON FUNCTION dms.track(text, text, text, text, name[], name[], name, boolean, boolean) FROM PUBLIC;
-- drop: DROP FUNCTION dms.track(text, text, text, text, name[], name[], name, boolean, boolean);
