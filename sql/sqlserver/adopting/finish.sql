-- sql/sqlserver/adopting/finish.sql: the adoption is over. In the transaction that lets readers in.
DROP TABLE dms.Adoption;
