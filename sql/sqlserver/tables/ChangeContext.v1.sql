-- sql/sqlserver/tables/ChangeContext.v1.sql: option context: what caused a transaction's changes, as its writer says. One row a transaction and
-- context: it holds for the events of the transaction whose stamps are above AfterVersion and at most ThroughVersion.
-- Transaction ids come again when the server restarts. The sequence does not go back: a later transaction's stamps are above ThroughVersion,
-- which follows the transaction's statements.
IF OBJECT_ID(N'dms.ResourceChange') IS NULL
    THROW 50006, N'option context needs revision 0006. Upgrade to it first.', 1;
CREATE TABLE dms.ChangeContext (
    TransactionId  bigint         NOT NULL,
    AfterVersion   bigint         NOT NULL,
    ThroughVersion bigint         NULL,
    CreatedAt      datetime2(7)   NOT NULL,
    Context        nvarchar(max)  NOT NULL CONSTRAINT CK_ChangeContext_Context CHECK (ISJSON(Context) = 1),
    CONSTRAINT PK_ChangeContext PRIMARY KEY (TransactionId, AfterVersion)
);
CREATE INDEX IX_ChangeContext_ThroughVersion ON dms.ChangeContext (ThroughVersion);  -- for the prune
EXEC sys.sp_addextendedproperty N'dmsjournal', N'what caused changes', N'SCHEMA', N'dms', N'TABLE', N'ChangeContext';
-- Always empty: its foreign key refuses TRUNCATE, which no trigger would see.
CREATE TABLE dms.ChangeContextGuard (
    TransactionId bigint NULL,
    AfterVersion  bigint NULL,
    CONSTRAINT CK_ChangeContextGuard CHECK (1 = 0),
    CONSTRAINT FK_ChangeContextGuard_ChangeContext FOREIGN KEY (TransactionId, AfterVersion)
        REFERENCES dms.ChangeContext (TransactionId, AfterVersion)
);
EXEC sys.sp_addextendedproperty N'dmsjournal', N'always empty: its foreign key refuses TRUNCATE', N'SCHEMA', N'dms', N'TABLE', N'ChangeContextGuard';
-- drop: DROP TABLE dms.ChangeContextGuard;
-- drop: DROP TABLE dms.ChangeContext;
