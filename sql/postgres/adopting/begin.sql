-- sql/postgres/adopting/begin.sql: from here on an adoption is on its way, and upgrades wait for its end (checks/installable.sql).
CREATE TABLE IF NOT EXISTS dms.Adoption (
    Fill    varchar(64) CONSTRAINT PK_Adoption PRIMARY KEY,
    Through bigint      NOT NULL  -- the last DocumentId that is done
);
COMMENT ON TABLE dms.Adoption IS 'dmsjournal: an adoption that is on its way, and how far its fills are';
