-- sql/postgres/functions/pieces_of.v1.sql: option partitions: the pieces that a part of a journal falls into at multiples of `versions`, from its
-- first row on, in order: low (inclusive, null: from the beginning on), high (exclusive), and the name of the table that a piece is copied to.
CREATE FUNCTION dms.pieces_of(journal text, partition text, versions bigint)
RETURNS TABLE (low bigint, high bigint, name text, is_made boolean)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp SET row_security = off AS $$
DECLARE
    first bigint;
BEGIN
    EXECUTE format('SELECT min(ChangeVersion) FROM dms.%I', partition) INTO first;
    RETURN QUERY
    SELECT CASE WHEN cut.n = first / versions THEN whole.LowVersion ELSE cut.n * versions END,
           ends.high, ends.name, to_regclass(format('dms.%I', ends.name)) IS NOT NULL
    FROM dms.JournalPartition AS whole
    CROSS JOIN LATERAL generate_series(first / versions, (whole.HighVersion - 1) / versions) AS cut (n)
    CROSS JOIN LATERAL (SELECT CAST(least((cut.n + 1) * CAST(versions AS numeric), whole.HighVersion) AS bigint) AS high) AS at
    CROSS JOIN LATERAL (SELECT at.high, format('%s_split_%s', lower(pieces_of.journal), at.high) AS name) AS ends
    WHERE whole.Journal = pieces_of.journal AND whole.Partition = pieces_of.partition AND NOT whole.IsDefault
    ORDER BY cut.n;
END $$;
REVOKE EXECUTE ON FUNCTION dms.pieces_of(text, text, bigint) FROM PUBLIC;
-- drop: DROP FUNCTION dms.pieces_of(text, text, bigint);
