-- sql/sqlserver/procedures/newest_stamp.drop.sql
DROP PROCEDURE dms.newest_stamp;
