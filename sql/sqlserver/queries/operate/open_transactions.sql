-- sql/sqlserver/queries/operate/open_transactions.sql: who must have ended before a part is dropped: nobody here, see procedures/drop_partition.v1.sql.
-- Gives: reader.
SELECT CAST(NULL AS nvarchar(64)) AS reader WHERE 1 = 0;
