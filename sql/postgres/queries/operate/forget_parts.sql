-- sql/postgres/queries/operate/forget_parts.sql: option partitions: a journal goes on without the parts that were taken from it; its floor was
-- raised above what they held, in this transaction. The default part stays listed: partitions ensure makes it anew. Binds: journal.
DELETE FROM dms.KnownPartition AS known
WHERE known.Journal = CAST(:journal AS text) AND known.HighVersion IS NOT NULL AND NOT EXISTS (
    SELECT FROM dms.JournalPartition AS part
    WHERE part.Journal = known.Journal AND part.Partition = known.Partition
      AND part.LowVersion IS NOT DISTINCT FROM known.LowVersion AND part.HighVersion IS NOT DISTINCT FROM known.HighVersion)
