-- sql/postgres/triggers/tracked_late.v1.sql: option tracking.
CREATE CONSTRAINT TRIGGER TR_TrackedLate_Link AFTER INSERT ON dms.TrackedLate
    DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION dms.link_late();
-- drop: DROP TRIGGER TR_TrackedLate_Link ON dms.TrackedLate;
