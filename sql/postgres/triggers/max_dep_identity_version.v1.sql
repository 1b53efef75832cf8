-- sql/postgres/triggers/max_dep_identity_version.v1.sql. Below zero is a signal that was written while the trigger was off.
CREATE TRIGGER TR_Document_KeepMaxDepInsert BEFORE INSERT ON dms.Document
    FOR EACH ROW WHEN (NEW.MaxDepIdentityVersion <> 0) EXECUTE FUNCTION dms.keep_max_dep();
CREATE TRIGGER TR_Document_KeepMaxDepUpdate BEFORE UPDATE ON dms.Document
    FOR EACH ROW WHEN (NEW.MaxDepIdentityVersion IS DISTINCT FROM OLD.MaxDepIdentityVersion OR NEW.MaxDepIdentityVersion < 0)
    EXECUTE FUNCTION dms.keep_max_dep();
CREATE TRIGGER TR_Document_NoteIdentity AFTER UPDATE ON dms.Document
    FOR EACH ROW WHEN (NEW.IdentityVersion <> OLD.IdentityVersion) EXECUTE FUNCTION dms.note_identity();
CREATE CONSTRAINT TRIGGER TR_MaxDepIdentityPending_Raise AFTER INSERT ON dms.MaxDepIdentityPending
    DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (NOT NEW.IsFill) EXECUTE FUNCTION dms.raise_at_commit();
CREATE TRIGGER TR_MaxDepIdentityPending_Truncate BEFORE TRUNCATE ON dms.MaxDepIdentityPending
    FOR EACH STATEMENT EXECUTE FUNCTION dms.refuse_truncate();
-- drop: DROP TRIGGER TR_Document_KeepMaxDepInsert ON dms.Document;
-- drop: DROP TRIGGER TR_Document_KeepMaxDepUpdate ON dms.Document;
-- drop: DROP TRIGGER TR_Document_NoteIdentity ON dms.Document;
-- drop: DROP TRIGGER TR_MaxDepIdentityPending_Raise ON dms.MaxDepIdentityPending;
-- drop: DROP TRIGGER TR_MaxDepIdentityPending_Truncate ON dms.MaxDepIdentityPending;
