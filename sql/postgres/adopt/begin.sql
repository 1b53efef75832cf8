-- sql/postgres/adopt/begin.sql: from here on an adoption is on its way, and upgrades wait for its end (checks/installable.sql).
CREATE TABLE IF NOT EXISTS dms.Adoption (
    Fill    varchar(64) CONSTRAINT PK_Adoption PRIMARY KEY,
    Through bigint      NOT NULL  -- the last DocumentId that is done
);
COMMENT ON TABLE dms.Adoption IS 'dmsjournal: an adoption that is on its way, and how far its fills are';
CREATE TABLE IF NOT EXISTS dms.AdoptionBefore (
    Kind      varchar(16) NOT NULL,  -- as queries/schema/adopt_before.sql gives them
    TableName varchar(64) NOT NULL,
    Name      varchar(64) NOT NULL,
    CONSTRAINT PK_AdoptionBefore PRIMARY KEY (Kind, TableName, Name)
);
COMMENT ON TABLE dms.AdoptionBefore IS 'dmsjournal: what the tables lacked before an adoption, and what it replaces: adopt/abandon.sql goes by it';
