-- sql/sqlserver/queries/operate/repair_sequence.sql: the sequence as shipped. The lock that this takes keeps everybody from drawing until the
-- transaction ends, so that raise_sequence, which comes after it, never sets it back; it waits for writers that have drawn.
ALTER SEQUENCE dms.ChangeVersionSequence INCREMENT BY 1 NO CYCLE;
