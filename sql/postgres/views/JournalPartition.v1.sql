-- sql/postgres/views/JournalPartition.v1.sql: option partitions: the parts of each journal. It holds the versions from LowVersion (inclusive;
-- null: from the beginning on) to HighVersion (exclusive); the default one (both null) whatever is in no other.
CREATE VIEW dms.JournalPartition (Journal, Partition, LowVersion, HighVersion, IsDefault) AS
SELECT journal.name, CAST(part.relname AS text),
       CAST(substring(bound.text FROM $re$FROM \('(-?\d+)'\)$re$) AS bigint), CAST(substring(bound.text FROM $re$TO \('(-?\d+)'\)$re$) AS bigint),
       bound.text = 'DEFAULT'
FROM (VALUES ('DocumentChangeEvent'), ('IdentityChangeEvent'), ('KeyChangeEvent'), ('DocumentDeleteEvent')) AS journal (name)
JOIN pg_catalog.pg_inherits AS link ON link.inhparent = pg_catalog.to_regclass('dms.' || journal.name)
JOIN pg_catalog.pg_class AS part ON part.oid = link.inhrelid
CROSS JOIN LATERAL (SELECT pg_catalog.pg_get_expr(part.relpartbound, part.oid) AS text) AS bound;
GRANT SELECT ON dms.JournalPartition TO PUBLIC;  -- what it shows, the catalog shows to everybody
COMMENT ON VIEW dms.JournalPartition IS 'dmsjournal: the parts of each journal';
-- drop: DROP VIEW dms.JournalPartition;
