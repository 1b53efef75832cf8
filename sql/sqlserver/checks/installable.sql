-- sql/sqlserver/checks/installable.sql: refuses to install where schema dms belongs to something else (acceptance 57).
-- Runs before anything is created, online and in the script. What an earlier installation left with documents in it carries its
-- property, and is taken up again.
DECLARE @message nvarchar(2048), @foreign_object nvarchar(1000) = NULL, @is_installed int = 0;
IF CAST(SERVERPROPERTY(N'EngineEdition') AS int) NOT IN (5, 8, 12) AND CAST(PARSENAME(CAST(SERVERPROPERTY(N'ProductVersion') AS nvarchar(128)), 4) AS int) < 15
    THROW 50006, N'dmsjournal needs SQL Server 2019 or later, or Azure SQL. Upgrade the server first.', 1;
IF (SELECT compatibility_level FROM sys.databases WHERE name = DB_NAME()) < 130
    THROW 50006, N'dmsjournal needs compatibility level 130 or higher (OPENJSON). ALTER DATABASE CURRENT SET COMPATIBILITY_LEVEL = 150.', 1;
IF EXISTS (SELECT * FROM sys.configurations WHERE name = N'nested triggers' AND CAST(value_in_use AS int) = 0)
    THROW 50006, N'dmsjournal needs the server option "nested triggers": an edge stamps its parent through the trigger on documents. sp_configure ''nested triggers'', 1.', 1;
IF SCHEMA_ID(N'dms') IS NULL AND COALESCE(HAS_PERMS_BY_NAME(DB_NAME(), N'DATABASE', N'CREATE SCHEMA'), 0) = 0
    THROW 50006, N'the user may not create schema dms in this database. GRANT CREATE SCHEMA to the user, or create the schema for it (CREATE SCHEMA dms AUTHORIZATION ...).', 1;
IF COALESCE(HAS_PERMS_BY_NAME(DB_NAME(), N'DATABASE', N'CREATE TABLE'), 0) = 0
   OR COALESCE(HAS_PERMS_BY_NAME(DB_NAME(), N'DATABASE', N'CREATE VIEW'), 0) = 0
   OR COALESCE(HAS_PERMS_BY_NAME(DB_NAME(), N'DATABASE', N'CREATE PROCEDURE'), 0) = 0
    THROW 50006, N'the user may not create tables, views and procedures in this database. GRANT CREATE TABLE, CREATE VIEW, CREATE PROCEDURE to the user, or install as the database''s owner.', 1;
IF SCHEMA_ID(N'dms') IS NULL
    RETURN;
IF COALESCE(HAS_PERMS_BY_NAME(N'dms', N'SCHEMA', N'CONTROL'), 0) = 0
    THROW 50006, N'the user may not create objects in schema dms. GRANT CONTROL ON SCHEMA::dms to the user, or install as its owner.', 1;
IF OBJECT_ID(N'dms.alembic_version') IS NOT NULL AND EXISTS (
    SELECT * FROM sys.extended_properties
    WHERE class = 1 AND major_id = OBJECT_ID(N'dms.alembic_version') AND minor_id = 0 AND name = N'dmsjournal')
    EXEC sys.sp_executesql N'SELECT @is_installed = COUNT(*) FROM dms.alembic_version;', N'@is_installed int OUTPUT', @is_installed OUTPUT;
IF @is_installed > 0
    RETURN;  -- installed: what else is in the schema came afterwards and is not touched
SELECT @foreign_object = COALESCE(@foreign_object + N', ', N'') + o.name
FROM sys.objects AS o
WHERE o.schema_id = SCHEMA_ID(N'dms') AND o.parent_object_id = 0
  AND NOT EXISTS (
      SELECT * FROM sys.extended_properties AS p
      WHERE p.class = 1 AND p.major_id = o.object_id AND p.minor_id = 0 AND p.name = N'dmsjournal');
IF @foreign_object IS NOT NULL
BEGIN
    SET @message = N'schema dms holds objects of another application: ' + @foreign_object
        + N'. Install into a database whose schema dms is empty or absent.';
    THROW 50006, @message, 1;
END;
