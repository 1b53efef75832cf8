-- sql/sqlserver/checks/owned.sql: refuses to go on where schema dms, or something in it, is not the installing user's, whatever its mark says, or is
-- not what a migration makes (invariant 13, acceptance 105). Runs once the schema is there, before anything of it is run or read, and names all
-- that it finds. Trusted is what the operator takes over on purpose (--trust), as it was named here.
DECLARE @found TABLE (
    kind nvarchar(10) NOT NULL, subject nvarchar(600) NOT NULL, name nvarchar(600) NOT NULL, owner nvarchar(256) NOT NULL, found nvarchar(1500) NOT NULL);
DECLARE @listed nvarchar(max) = NULL, @first nvarchar(600), @message nvarchar(2048);
INSERT INTO @found (kind, subject, name, owner, found)
{foreign_objects};
DELETE FROM @found WHERE subject IN (SELECT trusted.value COLLATE DATABASE_DEFAULT FROM OPENJSON(N'{trusted}') AS trusted);
SELECT @listed = STRING_AGG(CAST(CONCAT(one.subject, N' (', one.found, N')') AS nvarchar(max)), N'; '), @first = MIN(one.subject) FROM @found AS one;
IF @listed IS NOT NULL
BEGIN
    SET @message = LEFT(CONCAT(N'schema dms is not all of user ', USER_NAME(), N': ', @listed), 1600)
        + LEFT(CONCAT(
            N'. Run it as the user that owns them. If that user is not the one to install, read each object, then drop it or change its owner '
            + N'(ALTER AUTHORIZATION). To take one over as it is, name it: --trust ''', @first, N'''.'), 440);
    THROW 50006, @message, 1;
END;
