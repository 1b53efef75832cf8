-- sql/sqlserver/roles/sign_horizon.sql: optional, by a member of sysadmin, on SQL Server (not in Azure SQL Database): lets every reader call
-- dms.horizon without a right on the server. The certificate signs the one procedure that looks at the locks; a login made from it,
-- which nobody can log in with, holds the right. Its name in master carries the database's: each database of a server has its own.
-- An upgrade or a repair that replaces the procedure drops the signature: run it again, it begins by taking away what it made before.
-- In an availability group, run the part in master on each replica: it is on the primary alone otherwise.
--   sqlcmd -b -I -d DATABASE -v password="a long random text" -i sign_horizon.sql
-- The private key is removed at the end: nothing else can be signed with it.
SET XACT_ABORT ON;
DECLARE @name nvarchar(300) = QUOTENAME(N'dmsjournal_horizon_' + DB_NAME()), @certificate nvarchar(max), @statement nvarchar(max);
IF EXISTS (SELECT * FROM sys.crypt_properties WHERE major_id = OBJECT_ID(N'dms.oldest_floor'))
    DROP SIGNATURE FROM dms.oldest_floor BY CERTIFICATE dmsjournal_horizon;
IF CERT_ID(N'dmsjournal_horizon') IS NOT NULL
    DROP CERTIFICATE dmsjournal_horizon;
SET @statement = N'IF SUSER_ID(N''' + REPLACE(PARSENAME(@name, 1), N'''', N'''''') + N''') IS NOT NULL DROP LOGIN ' + @name + N';'
    + N' IF CERT_ID(N''' + REPLACE(PARSENAME(@name, 1), N'''', N'''''') + N''') IS NOT NULL DROP CERTIFICATE ' + @name + N';';
EXEC master.sys.sp_executesql @statement;
CREATE CERTIFICATE dmsjournal_horizon ENCRYPTION BY PASSWORD = '$(password)'
    WITH SUBJECT = 'dmsjournal: dms.oldest_floor may look at the locks', EXPIRY_DATE = '99991231';
ADD SIGNATURE TO dms.oldest_floor BY CERTIFICATE dmsjournal_horizon WITH PASSWORD = '$(password)';
ALTER CERTIFICATE dmsjournal_horizon REMOVE PRIVATE KEY;
SET @certificate = CONVERT(nvarchar(max), CERTENCODED(CERT_ID(N'dmsjournal_horizon')), 1);
SET @statement = N'CREATE CERTIFICATE ' + @name + N' FROM BINARY = ' + @certificate + N';'
    + N' CREATE LOGIN ' + @name + N' FROM CERTIFICATE ' + @name + N';'
    + N' GRANT VIEW SERVER STATE TO ' + @name + N';';
EXEC master.sys.sp_executesql @statement;
GO
