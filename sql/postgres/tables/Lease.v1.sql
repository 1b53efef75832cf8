-- sql/postgres/tables/Lease.v1.sql: which program works alone under a name: 'prune', or 'consumer ' and a consumer's name. A lock of a session
-- would stay behind in a pooler's session (invariant 12). A lease ends by itself, by the database's clock, unless its holder renews it.
-- Roles write here through functions/hold_lease.v1.sql alone.
CREATE TABLE dms.Lease (
    Name      varchar(300) CONSTRAINT PK_Lease PRIMARY KEY,
    Token     uuid         NOT NULL,  -- of the holder's program: another one takes a lease under another token
    Process   varchar(256) NOT NULL CONSTRAINT CK_Lease_Process CHECK (Process COLLATE "C" ~ '^[ -~]+$'),  -- a terminal prints it
    Owner     varchar(128) NOT NULL,
    TakenAt   timestamptz  NOT NULL,
    ExpiresAt timestamptz  NOT NULL
);
COMMENT ON TABLE dms.Lease IS 'dmsjournal: which program prunes, or reads as a consumer';
-- drop: DROP TABLE dms.Lease;
