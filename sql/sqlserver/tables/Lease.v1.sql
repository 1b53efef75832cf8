-- sql/sqlserver/tables/Lease.v1.sql: which program works alone under a name: 'prune', or 'consumer ' and a consumer's name. A lock of a session
-- would stay behind in a pooled session (invariant 12). A lease ends by itself, by the database's clock, unless its holder renews it.
-- Users write here through procedures/hold_lease.v1.sql alone.
CREATE TABLE dms.Lease (
    Name      nvarchar(300)    COLLATE Latin1_General_100_BIN2 NOT NULL CONSTRAINT PK_Lease PRIMARY KEY,
    Token     uniqueidentifier NOT NULL,  -- of the holder's program: another one takes a lease under another token
    Process   nvarchar(256)    COLLATE Latin1_General_100_BIN2 NOT NULL
              CONSTRAINT CK_Lease_Process CHECK (Process <> N'' AND Process NOT LIKE N'%[^ -~]%'),  -- a terminal prints it
    Owner     nvarchar(128)    NOT NULL,
    TakenAt   datetime2(7)     NOT NULL,
    ExpiresAt datetime2(7)     NOT NULL
);
EXEC sys.sp_addextendedproperty N'dmsjournal', N'which program prunes, or reads as a consumer', N'SCHEMA', N'dms', N'TABLE', N'Lease';
-- drop: DROP TABLE dms.Lease;
