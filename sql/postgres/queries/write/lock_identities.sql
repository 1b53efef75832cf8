-- sql/postgres/queries/write/lock_identities.sql: nobody else writes a document whose identity contains what some keys name, nor
-- renames one of those, until the transaction ends.
-- Binds: stripes (JSON array of numbers, ascending, which is the order in which all writers lock). A key's stripe is its hash.
SELECT count(pg_advisory_xact_lock(1146768491, CAST(stripe AS integer)))
FROM (SELECT value AS stripe FROM jsonb_array_elements_text(CAST(:stripes AS jsonb)) WITH ORDINALITY AS listed (value, ordinal)
      ORDER BY ordinal OFFSET 0) AS wanted
