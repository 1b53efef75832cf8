-- sql/sqlserver/adopt/sequence.sql: a sequence that was another program's is the journal's from now on: it stays where documents do.
EXEC sys.sp_addextendedproperty N'dmsjournal', N'the stamps', N'SCHEMA', N'dms', N'SEQUENCE', N'ChangeVersionSequence';
