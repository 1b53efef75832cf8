-- sql/postgres/queries/adopt_reset.sql: all fills begin again.
DELETE FROM dms.Adoption
