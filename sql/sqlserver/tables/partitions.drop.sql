-- sql/sqlserver/tables/partitions.drop.sql: option partitions goes: the journals are written anew, each in one piece.
EXEC dms.rebuild_journals N'[default]';
DROP PARTITION SCHEME dmsjournal_versions;
DROP PARTITION FUNCTION dmsjournal_versions;
