-- sql/sqlserver/tables/FeedDatabase.v1.sql: which database this is, in one row: a token of the feed is refused by another one. It goes along with
-- a backup or a copy: who has read from this one goes on there, as long as the history is the same (invariant 9).
CREATE TABLE dms.FeedDatabase (
    DatabaseUuid uniqueidentifier NOT NULL CONSTRAINT PK_FeedDatabase PRIMARY KEY,
    CreatedAt    datetime2(7)     NOT NULL
);
INSERT INTO dms.FeedDatabase (DatabaseUuid, CreatedAt) VALUES (NEWID(), SYSUTCDATETIME());
EXEC sys.sp_addextendedproperty N'dmsjournal', N'which database the tokens of the feed belong to', N'SCHEMA', N'dms', N'TABLE', N'FeedDatabase';
-- drop: DROP TABLE dms.FeedDatabase;
