-- sql/postgres/queries/write/lock_creation.sql: one creator of a key at a time, until the transaction ends. Binds: stripes (JSON array of
-- numbers, ascending, which is the order in which all writers lock). A key's stripe is its hash; unrelated keys may share one.
SELECT count(pg_advisory_xact_lock(1146768490, CAST(stripe AS integer)))
FROM (SELECT value AS stripe FROM jsonb_array_elements_text(CAST(:stripes AS jsonb)) WITH ORDINALITY AS listed (value, ordinal)
      ORDER BY ordinal OFFSET 0) AS wanted
