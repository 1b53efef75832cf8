-- sql/sqlserver/checks/server.sql: refuses a server, a database or a user that cannot have the journal (acceptance 57).
IF CAST(SERVERPROPERTY(N'EngineEdition') AS int) NOT IN (5, 8, 12) AND CAST(PARSENAME(CAST(SERVERPROPERTY(N'ProductVersion') AS nvarchar(128)), 4) AS int) < 15
    THROW 50006, N'dmsjournal needs SQL Server 2019 or later, or Azure SQL. Upgrade the server first.', 1;
IF (SELECT compatibility_level FROM sys.databases WHERE name = DB_NAME()) < 130
    THROW 50006, N'dmsjournal needs compatibility level 130 or higher (OPENJSON). ALTER DATABASE CURRENT SET COMPATIBILITY_LEVEL = 150.', 1;
IF EXISTS (SELECT * FROM sys.configurations WHERE name = N'nested triggers' AND CAST(value_in_use AS int) = 0)
    THROW 50006, N'dmsjournal needs the server option "nested triggers": an edge stamps its parent through the trigger on documents. sp_configure ''nested triggers'', 1.', 1;
IF SCHEMA_ID(N'dms') IS NULL AND COALESCE(HAS_PERMS_BY_NAME(QUOTENAME(DB_NAME()), N'DATABASE', N'CREATE SCHEMA'), 0) = 0
    THROW 50006, N'the user may not create schema dms in this database. GRANT CREATE SCHEMA to the user, or create the schema for it (CREATE SCHEMA dms AUTHORIZATION ...).', 1;
IF COALESCE(HAS_PERMS_BY_NAME(QUOTENAME(DB_NAME()), N'DATABASE', N'CREATE TABLE'), 0) = 0
   OR COALESCE(HAS_PERMS_BY_NAME(QUOTENAME(DB_NAME()), N'DATABASE', N'CREATE VIEW'), 0) = 0
   OR COALESCE(HAS_PERMS_BY_NAME(QUOTENAME(DB_NAME()), N'DATABASE', N'CREATE PROCEDURE'), 0) = 0
    THROW 50006, N'the user may not create tables, views and procedures in this database. GRANT CREATE TABLE, CREATE VIEW, CREATE PROCEDURE to the user, or install as the database''s owner.', 1;
IF EXISTS (
    SELECT * FROM sys.triggers AS t
    WHERE t.parent_class = 0 AND t.is_disabled = 0 AND t.is_ms_shipped = 0
      AND CONCAT(N'database trigger ', t.name) NOT IN (SELECT trusted.value COLLATE DATABASE_DEFAULT FROM OPENJSON(N'{trusted}') AS trusted))
    THROW 50006, N'the database has a DDL trigger, which runs within the migration, with the rights of who installs. Read it (sys.triggers, parent_class 0), then name it: --trust ''database trigger ...''.', 1;
