-- sql/sqlserver/tables/alembic_version.v1.sql: marks Alembic's own table as ours.
EXEC sys.sp_addextendedproperty N'dmsjournal', N'the revision that is installed', N'SCHEMA', N'dms', N'TABLE', N'alembic_version';
