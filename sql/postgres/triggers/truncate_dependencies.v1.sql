-- sql/postgres/triggers/truncate_dependencies.v1.sql
CREATE TRIGGER TR_ResourceDependency_Truncate BEFORE TRUNCATE ON dms.ResourceDependency
    FOR EACH STATEMENT EXECUTE FUNCTION dms.refuse_truncate();
-- drop: DROP TRIGGER TR_ResourceDependency_Truncate ON dms.ResourceDependency;
