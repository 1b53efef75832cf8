-- sql/sqlserver/tables/FloorSecret.v1.sql: one row: what makes the names of our locks, which no session can guess (lock_name.v1.sql).
-- Nobody but the owner's procedures reads it: ownership chaining passes by the DENY, a reader's right on the whole schema does not.
CREATE TABLE dms.FloorSecret (
    Secret binary(32) NOT NULL CONSTRAINT PK_FloorSecret PRIMARY KEY
);
INSERT INTO dms.FloorSecret (Secret) VALUES (CRYPT_GEN_RANDOM(32));
DENY SELECT, INSERT, UPDATE, DELETE ON dms.FloorSecret TO public;
EXEC sys.sp_addextendedproperty N'dmsjournal', N'names the locks', N'SCHEMA', N'dms', N'TABLE', N'FloorSecret';
-- drop: DROP TABLE dms.FloorSecret;
