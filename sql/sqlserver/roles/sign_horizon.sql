-- sql/sqlserver/roles/sign_horizon.sql: optional, by a member of sysadmin, on SQL Server (not in Azure SQL Database): lets every reader call
-- dms.horizon without a right on the server. The certificate signs the one procedure that looks at the locks; a login made from it,
-- which nobody can log in with, holds the right. An upgrade that replaces the procedure drops the signature: run it again.
--   sqlcmd -b -I -d DATABASE -v database=DATABASE password="a long random text" -i sign_horizon.sql
-- The private key is removed at the end: nothing else can be signed with it.
SET XACT_ABORT ON;
IF EXISTS (SELECT * FROM sys.crypt_properties WHERE major_id = OBJECT_ID(N'dms.oldest_floor'))
    THROW 50006, N'dms.oldest_floor is signed already. DROP SIGNATURE FROM dms.oldest_floor BY CERTIFICATE dmsjournal_horizon first.', 1;
CREATE CERTIFICATE dmsjournal_horizon ENCRYPTION BY PASSWORD = '$(password)'
    WITH SUBJECT = 'dmsjournal: dms.oldest_floor may look at the locks', EXPIRY_DATE = '99991231';
ADD SIGNATURE TO dms.oldest_floor BY CERTIFICATE dmsjournal_horizon WITH PASSWORD = '$(password)';
ALTER CERTIFICATE dmsjournal_horizon REMOVE PRIVATE KEY;
DECLARE @certificate nvarchar(max) = CONVERT(nvarchar(max), CERTENCODED(CERT_ID(N'dmsjournal_horizon')), 1);
DECLARE @statement nvarchar(max) = N'CREATE CERTIFICATE dmsjournal_horizon FROM BINARY = ' + @certificate + N';';
EXEC master.sys.sp_executesql @statement;
EXEC master.sys.sp_executesql N'CREATE LOGIN dmsjournal_horizon FROM CERTIFICATE dmsjournal_horizon;';
EXEC master.sys.sp_executesql N'GRANT VIEW SERVER STATE TO dmsjournal_horizon;';
GO
