-- sql/sqlserver/queries/revision.sql: the revision that is installed; no row, or no such table, where none is. Rows of options are left
-- out (options.sql): theirs are no plain numbers.
SELECT version_num AS revision FROM dms.alembic_version WHERE version_num NOT LIKE N'%[^0-9]%';
