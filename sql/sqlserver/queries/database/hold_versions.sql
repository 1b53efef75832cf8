-- sql/sqlserver/queries/database/hold_versions.sql: refuses to read the revisions from anything but a table: a view or a synonym would run what its owner
-- wrote, with the rights of who reads.
IF EXISTS (
    SELECT * FROM sys.objects AS o
    WHERE o.schema_id = SCHEMA_ID(N'dms') AND o.parent_object_id = 0 AND LOWER(o.name COLLATE Latin1_General_100_BIN2) = N'alembic_version' AND RTRIM(o.type) <> 'U')
    THROW 50006, N'dms.alembic_version is no table, so it is not read: that could run code of its owner. It is not the table that an upgrade makes. Look at it, and drop it.', 1;
