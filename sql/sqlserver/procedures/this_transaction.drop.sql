-- sql/sqlserver/procedures/this_transaction.drop.sql
DROP PROCEDURE dms.this_transaction;
