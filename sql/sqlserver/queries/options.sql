-- sql/sqlserver/queries/options.sql: the revisions of the options that are installed; see dmsjournal/branches.py.
SELECT version_num AS revision FROM dms.alembic_version WHERE version_num LIKE N'%[^0-9]%' ORDER BY version_num;
