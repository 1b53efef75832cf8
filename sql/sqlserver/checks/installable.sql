-- sql/sqlserver/checks/installable.sql: refuses to install where schema dms belongs to something else (acceptance 57).
-- Runs before anything is created, online and in the script. What an earlier installation left with documents in it carries its
-- property, and is taken up again. Where documents are left, they may have been adopted with neighbours: then only those stand in the way
-- whose names a migration would take for ours; a clash with any other name ends the migration by itself.
-- An export may leave extended properties out. Then an installation is known by its objects, all of which are the installing user's by
-- checks/owned.sql, and its document tables are marked again, so that they are taken up after a removal.
DECLARE @message nvarchar(2048), @foreign_object nvarchar(1000) = NULL, @is_installed int = 0, @is_adopted bit = 0, @marks nvarchar(max);
IF SCHEMA_ID(N'dms') IS NULL
    RETURN;
IF OBJECT_ID(N'dms.Adoption') IS NOT NULL
    THROW 50006, N'an adoption of dms.Document is on its way. Run dmsjournal adopt to its end first.', 1;
IF EXISTS (
    SELECT * FROM sys.extended_properties
    WHERE class = 1 AND major_id = OBJECT_ID(N'dms.Document') AND minor_id = 0 AND name = N'dmsjournal')
    SET @is_adopted = 1;
IF OBJECT_ID(N'dms.alembic_version') IS NOT NULL AND (
    EXISTS (
        SELECT * FROM sys.extended_properties
        WHERE class = 1 AND major_id = OBJECT_ID(N'dms.alembic_version') AND minor_id = 0 AND name = N'dmsjournal')
    OR (OBJECT_ID(N'dms.enter_change') IS NOT NULL AND 5 = (
        SELECT COUNT(*) FROM sys.objects AS o WHERE o.schema_id = SCHEMA_ID(N'dms')
          AND LOWER(o.name COLLATE Latin1_General_100_BIN2) IN (N'resourcekey', N'document', N'documentcache', N'referenceedge', N'changeversionsequence'))))
    EXEC sys.sp_executesql N'SELECT @is_installed = COUNT(*) FROM dms.alembic_version;', N'@is_installed int OUTPUT', @is_installed OUTPUT;
IF @is_installed > 0
BEGIN
    SELECT @marks = STRING_AGG(
        CONCAT(CAST(N'EXEC sys.sp_addextendedproperty N''dmsjournal'', N''restored without its property'', N''SCHEMA'', N''dms'', N''' AS nvarchar(max)),
               CASE o.type WHEN 'SO' THEN N'SEQUENCE' ELSE N'TABLE' END, N''', N''', o.name, N''';'), N' ')
    FROM sys.objects AS o
    WHERE o.schema_id = SCHEMA_ID(N'dms')
      AND LOWER(o.name COLLATE Latin1_General_100_BIN2) IN (N'alembic_version', N'resourcekey', N'document', N'documentcache', N'referenceedge', N'changeversionsequence')
      AND NOT EXISTS (
          SELECT * FROM sys.extended_properties AS p
          WHERE p.class = 1 AND p.major_id = o.object_id AND p.minor_id = 0 AND p.name = N'dmsjournal');
    IF @marks IS NOT NULL
        EXEC sys.sp_executesql @marks;
    RETURN;  -- installed: what else is in the schema came afterwards and is not touched
END;
SELECT @foreign_object = COALESCE(@foreign_object + N', ', N'') + o.name
FROM sys.objects AS o
WHERE o.schema_id = SCHEMA_ID(N'dms') AND o.parent_object_id = 0
  AND (@is_adopted = 0 OR LOWER(o.name COLLATE Latin1_General_100_BIN2) IN (N'resourcekey', N'document', N'documentcache', N'referenceedge', N'changeversionsequence'))
  AND NOT EXISTS (
      SELECT * FROM sys.extended_properties AS p
      WHERE p.class = 1 AND p.major_id = o.object_id AND p.minor_id = 0 AND p.name = N'dmsjournal');
IF @foreign_object IS NOT NULL
BEGIN
    SET @message = N'schema dms holds objects of another application: ' + @foreign_object
        + CASE WHEN @foreign_object = N'alembic_version'
               THEN N'. It is all that is there. If alembic stamp has made it, DROP TABLE dms.alembic_version, then upgrade; else install into another database.'
               WHEN OBJECT_ID(N'dms.Document') IS NOT NULL AND @is_adopted = 0
               THEN N'. Where Document is of documents with rows, run dmsjournal adopt, which takes them up (docs/dba/adopt.md); '
                    + N'else install into another database.'
               ELSE N'. Install into a database whose schema dms is empty or absent.' END;
    THROW 50006, @message, 1;
END;
