-- sql/sqlserver/checks/options.sql: refuses to end where an option is without what it needs: its revision ends with the journal's
-- revision that it needs (dmsjournal/schema/options.py); and where a stamp says that a journal is there which is not. Runs after the migrations, in their
-- transaction. Dynamic, since the table may not be there.
DECLARE @reached nvarchar(32), @early nvarchar(32), @option nvarchar(32), @message nvarchar(2048);
IF OBJECT_ID(N'dms.alembic_version') IS NOT NULL
    EXEC sys.sp_executesql N'
SELECT @reached = COALESCE(MAX(version_num), N''base'') FROM dms.alembic_version WHERE version_num NOT LIKE N''%[^0-9]%'';
SELECT @early = MIN(version_num) FROM dms.alembic_version
WHERE version_num LIKE N''%[^0-9]%'' AND (@reached = N''base'' OR RIGHT(version_num, 4) > @reached);',
        N'@reached nvarchar(32) OUTPUT, @early nvarchar(32) OUTPUT', @reached OUTPUT, @early OUTPUT;
IF @reached <> N'base' AND OBJECT_ID(N'dms.Document') IS NULL
BEGIN
    SET @message = N'dms.alembic_version would say revision ' + @reached
        + N', and dms.Document is not there. Alembic''s stamp installs nothing: run dmsjournal upgrade, or alembic upgrade head.';
    THROW 50006, @message, 1;
END;
IF @early IS NOT NULL
BEGIN
    SET @option = LEFT(@early, LEN(@early) - CASE WHEN @early LIKE N'%[_][a-z][_][0-9][0-9][0-9][0-9]' THEN 7 ELSE 5 END);
    SET @message = N'option ' + @option + N' needs revision ' + RIGHT(@early, 4) + N', and this leads to ' + @reached
        + N'. Remove the option first: dmsjournal downgrade --without ' + @option + N'.';
    THROW 50006, @message, 1;
END;
