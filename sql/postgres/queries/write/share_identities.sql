-- sql/postgres/queries/write/share_identities.sql: nobody renames what some keys name, until the transaction ends; others may share.
-- Binds: stripes (JSON array of numbers, ascending, which is the order in which all writers lock). A key's stripe is its hash.
SELECT count(pg_advisory_xact_lock_shared(1146768491, CAST(stripe AS integer)))
FROM (SELECT value AS stripe FROM jsonb_array_elements_text(CAST(:stripes AS jsonb)) WITH ORDINALITY AS listed (value, ordinal)
      ORDER BY ordinal OFFSET 0) AS wanted
