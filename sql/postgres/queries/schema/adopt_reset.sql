-- sql/postgres/queries/schema/adopt_reset.sql: all fills begin again.
DELETE FROM dms.Adoption
