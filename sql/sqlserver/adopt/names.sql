-- sql/sqlserver/adopt/names.sql: programs that know a document's resource by its three names go on writing them; the id follows, and is
-- added where the resource is new. Who writes the id alone, as our writer does, gets the names, so that NOT NULL on them hurts nobody.
-- Fires: TR_Document_Names instead of an insert into dms.Document, since the foreign key on the id is checked before any other trigger could
-- set it; TR_Document_Renamed after an update, whose own update TR_Document_Stamp refuses, as a document does not change its resource.
-- Where a trigger inserts, SCOPE_IDENTITY() and OUTPUT do not know the new id; @@IDENTITY does. It passes on the columns that are there now:
-- after another one was added to dms.Document, run this file again, in the same transaction. Defaults let a statement leave a column out.
DECLARE @text nvarchar(max), @columns nvarchar(max), @values nvarchar(max), @known nvarchar(max);
SELECT @text = STRING_AGG(
    CONCAT(CAST(N'ALTER TABLE dms.Document ADD CONSTRAINT DF_Document_' AS nvarchar(max)), c.name, N' DEFAULT ',
           CASE WHEN LOWER(c.name COLLATE Latin1_General_100_BIN2) = N'resourcekeyid' THEN N'0' ELSE N'N''''' END, N' FOR ', QUOTENAME(c.name), N';'), N' ')
FROM sys.columns AS c
WHERE c.object_id = OBJECT_ID(N'dms.Document') AND c.default_object_id = 0
  AND (LOWER(c.name COLLATE Latin1_General_100_BIN2) = N'resourcekeyid' OR (LOWER(c.name COLLATE Latin1_General_100_BIN2) IN (N'projectname', N'resourcename', N'resourceversion') AND c.is_nullable = 0));
IF @text IS NOT NULL
    EXEC sys.sp_executesql @text;
SELECT @columns = STRING_AGG(CAST(QUOTENAME(c.name) AS nvarchar(max)), N', ') WITHIN GROUP (ORDER BY c.column_id),
       @values = STRING_AGG(CAST(
           CASE WHEN LOWER(c.name COLLATE Latin1_General_100_BIN2) = N'resourcekeyid' THEN N'COALESCE(NULLIF(new.ResourceKeyId, 0), known.ResourceKeyId)'
                WHEN LOWER(c.name COLLATE Latin1_General_100_BIN2) IN (N'projectname', N'resourcename', N'resourceversion')
                THEN CONCAT(N'COALESCE(NULLIF(new.', QUOTENAME(c.name), N', N''''), given.', QUOTENAME(c.name), N')')
                WHEN d.definition NOT LIKE N'%NEXT VALUE FOR%'
                     AND (c.is_nullable = 0 OR LOWER(c.name COLLATE Latin1_General_100_BIN2) IN (N'contentversion', N'identityversion', N'contentlastmodifiedat', N'identitylastmodifiedat', N'createdat'))
                THEN CONCAT(N'COALESCE(new.', QUOTENAME(c.name), N', ', d.definition, N')')
                ELSE CONCAT(N'new.', QUOTENAME(c.name)) END AS nvarchar(max)), N', ') WITHIN GROUP (ORDER BY c.column_id)
FROM sys.columns AS c LEFT JOIN sys.default_constraints AS d ON d.object_id = c.default_object_id
WHERE c.object_id = OBJECT_ID(N'dms.Document') AND c.is_identity = 0 AND c.is_computed = 0 AND TYPE_NAME(c.system_type_id) <> N'timestamp';
SELECT @known = STRING_AGG(CONCAT(CAST(N'N' AS nvarchar(max)), QUOTENAME(c.name, N'''')), N', ')
FROM sys.columns AS c WHERE c.object_id = OBJECT_ID(N'dms.Document') AND c.name <> N'MaxDepIdentityVersion';
DROP TRIGGER IF EXISTS dms.TR_Document_Names;
SET @text = N'CREATE TRIGGER dms.TR_Document_Names ON dms.Document INSTEAD OF INSERT
AS
BEGIN
    IF NOT EXISTS (SELECT * FROM inserted)
        RETURN;
    SET NOCOUNT ON;
    SET ROWCOUNT 0;
    IF EXISTS (
        SELECT * FROM sys.columns
        WHERE object_id = OBJECT_ID(N''dms.Document'') AND name NOT IN (N''MaxDepIdentityVersion'', ' + @known + N'))
        THROW 50008, N''TR_Document_Names does not know each column of dms.Document. Run sql/sqlserver/adopt/names.sql again, or drop the trigger when no program writes names any more.'', 1;
    DECLARE @new TABLE (
        ProjectName     nvarchar(256) COLLATE Latin1_General_100_BIN2 NOT NULL,
        ResourceName    nvarchar(256) COLLATE Latin1_General_100_BIN2 NOT NULL,
        ResourceVersion nvarchar(64)  COLLATE Latin1_General_100_BIN2 NOT NULL
    );
    INSERT INTO @new (ProjectName, ResourceName, ResourceVersion)
    SELECT DISTINCT ProjectName COLLATE Latin1_General_100_BIN2, ResourceName COLLATE Latin1_General_100_BIN2,
           ResourceVersion COLLATE Latin1_General_100_BIN2
    FROM inserted AS new
    WHERE COALESCE(ResourceKeyId, 0) = 0 AND ProjectName <> N'''' AND ResourceName <> N'''' AND ResourceVersion <> N''''
      AND NOT EXISTS (
        SELECT * FROM dms.ResourceKey AS known
        WHERE known.ProjectName = new.ProjectName COLLATE Latin1_General_100_BIN2
          AND known.ResourceName = new.ResourceName COLLATE Latin1_General_100_BIN2
          AND known.ResourceVersion = new.ResourceVersion COLLATE Latin1_General_100_BIN2);
    IF EXISTS (SELECT * FROM @new)
        INSERT INTO dms.ResourceKey (ProjectName, ResourceName, ResourceVersion)
        SELECT ProjectName, ResourceName, ResourceVersion FROM @new AS new
        WHERE NOT EXISTS (
            SELECT * FROM dms.ResourceKey AS known WITH (UPDLOCK, HOLDLOCK)
            WHERE known.ProjectName = new.ProjectName AND known.ResourceName = new.ResourceName AND known.ResourceVersion = new.ResourceVersion);
    INSERT INTO dms.Document (' + @columns + N')
    SELECT ' + @values + N'
    FROM inserted AS new
    LEFT JOIN dms.ResourceKey AS known
        ON known.ProjectName = new.ProjectName COLLATE Latin1_General_100_BIN2
       AND known.ResourceName = new.ResourceName COLLATE Latin1_General_100_BIN2
       AND known.ResourceVersion = new.ResourceVersion COLLATE Latin1_General_100_BIN2
    LEFT JOIN dms.ResourceKey AS given ON given.ResourceKeyId = new.ResourceKeyId;
END;';
EXEC sys.sp_executesql @text;
GO
DROP TRIGGER IF EXISTS dms.TR_Document_Renamed;
GO
CREATE TRIGGER dms.TR_Document_Renamed ON dms.Document AFTER UPDATE
AS
BEGIN
    IF NOT (UPDATE(ProjectName) OR UPDATE(ResourceName) OR UPDATE(ResourceVersion)) OR NOT EXISTS (SELECT * FROM inserted)
        RETURN;
    SET NOCOUNT ON;
    SET ROWCOUNT 0;  -- the caller's; it is the caller's again on return
    DECLARE @changed TABLE (
        DocumentId      bigint        NOT NULL PRIMARY KEY,
        ProjectName     nvarchar(256) COLLATE Latin1_General_100_BIN2 NULL,
        ResourceName    nvarchar(256) COLLATE Latin1_General_100_BIN2 NULL,
        ResourceVersion nvarchar(64)  COLLATE Latin1_General_100_BIN2 NULL
    );
    INSERT INTO @changed (DocumentId, ProjectName, ResourceName, ResourceVersion)
    SELECT new.DocumentId, new.ProjectName, new.ResourceName, new.ResourceVersion
    FROM inserted AS new INNER JOIN deleted AS old ON old.DocumentId = new.DocumentId
    WHERE new.ResourceKeyId = old.ResourceKeyId
      AND (new.ProjectName COLLATE Latin1_General_100_BIN2 <> old.ProjectName
           OR new.ResourceName COLLATE Latin1_General_100_BIN2 <> old.ResourceName
           OR new.ResourceVersion COLLATE Latin1_General_100_BIN2 <> old.ResourceVersion)
    OPTION (HASH JOIN);
    IF NOT EXISTS (SELECT * FROM @changed)
        RETURN;
    INSERT INTO dms.ResourceKey (ProjectName, ResourceName, ResourceVersion)
    SELECT DISTINCT ProjectName, ResourceName, ResourceVersion FROM @changed AS new
    WHERE ProjectName IS NOT NULL AND ResourceName IS NOT NULL AND ResourceVersion IS NOT NULL AND NOT EXISTS (
        SELECT * FROM dms.ResourceKey AS known WITH (UPDLOCK, HOLDLOCK)
        WHERE known.ProjectName = new.ProjectName AND known.ResourceName = new.ResourceName AND known.ResourceVersion = new.ResourceVersion);
    UPDATE document SET ResourceKeyId = known.ResourceKeyId
    FROM @changed AS changed
    INNER JOIN dms.ResourceKey AS known
        ON known.ProjectName = changed.ProjectName AND known.ResourceName = changed.ResourceName
       AND known.ResourceVersion = changed.ResourceVersion
    INNER JOIN dms.Document AS document ON document.DocumentId = changed.DocumentId
    WHERE document.ResourceKeyId <> known.ResourceKeyId;
END;
