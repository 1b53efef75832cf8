-- sql/sqlserver/queries/schema/adopt_check_times.sql: times that a program cannot read: a datetime2 is none. Gives: subject, found, remedy; no row.
SELECT CAST(N'dms.Document' AS nvarchar(600)) AS subject, CAST(N'' AS nvarchar(max)) AS found, CAST(N'' AS nvarchar(max)) AS remedy WHERE 1 = 0;
