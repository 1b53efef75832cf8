-- sql/sqlserver/checks/schema.sql: where everything lives, alembic_version included. Dynamic: CREATE SCHEMA must be alone in its batch. Runs
-- before owned.sql: a schema that another user makes meanwhile is looked at, not taken.
IF SCHEMA_ID(N'dms') IS NULL
    EXEC sys.sp_executesql N'CREATE SCHEMA dms;';
