-- sql/postgres/triggers/truncate_dependencies.drop.sql
DROP TRIGGER TR_ResourceDependency_Truncate ON dms.ResourceDependency;
