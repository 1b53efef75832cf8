-- sql/sqlserver/checks/no_options.v1.sql: refuses to go below revision 0006, which every option needs, while there is one. The first thing that
-- going below it does: what an option added would stop it later in worse words. options.sql sees to what options need beyond that.
DECLARE @row nvarchar(32), @option nvarchar(32), @message nvarchar(2048);
SELECT @row = MIN(version_num) FROM dms.alembic_version WHERE version_num LIKE N'%[^0-9]%';
IF @row IS NOT NULL
BEGIN
    SET @option = LEFT(@row, LEN(@row) - CASE WHEN @row LIKE N'%[_][a-z][_][0-9][0-9][0-9][0-9]' THEN 7 ELSE 5 END);
    SET @message = N'option ' + @option + N' needs revision ' + RIGHT(@row, 4)
        + N', and this goes below it. Remove the option first: dmsjournal downgrade --without ' + @option + N'.';
    THROW 50006, @message, 1;
END;
