-- sql/postgres/triggers/reference_edge.v1.sql: ZZ, as document_stamp.v1.sql tells.
CREATE TRIGGER ZZ_ReferenceEdge_ParentResource BEFORE INSERT OR UPDATE ON dms.ReferenceEdge
    FOR EACH ROW EXECUTE FUNCTION dms.keep_parent_resource();
CREATE TRIGGER TR_ReferenceEdge_Insert AFTER INSERT ON dms.ReferenceEdge
    REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION dms.stamp_parents();
CREATE TRIGGER TR_ReferenceEdge_Delete AFTER DELETE ON dms.ReferenceEdge
    REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION dms.stamp_parents();
CREATE TRIGGER TR_ReferenceEdge_Update AFTER UPDATE ON dms.ReferenceEdge
    REFERENCING OLD TABLE AS removed NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION dms.stamp_repointed_parents();
-- drop: DROP TRIGGER ZZ_ReferenceEdge_ParentResource ON dms.ReferenceEdge;
-- drop: DROP TRIGGER TR_ReferenceEdge_Insert ON dms.ReferenceEdge;
-- drop: DROP TRIGGER TR_ReferenceEdge_Delete ON dms.ReferenceEdge;
-- drop: DROP TRIGGER TR_ReferenceEdge_Update ON dms.ReferenceEdge;
