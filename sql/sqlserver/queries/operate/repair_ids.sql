-- sql/sqlserver/queries/operate/repair_ids.sql: an identity that is below ids that are there goes on above them.
SET NOCOUNT ON;
DBCC CHECKIDENT (N'dms.Document', RESEED) WITH NO_INFOMSGS;
DBCC CHECKIDENT (N'dms.ResourceKey', RESEED) WITH NO_INFOMSGS;
