-- sql/postgres/queries/operate/repair_sequence.sql: the sequence as shipped. The lock that this takes keeps everybody from drawing until the
-- transaction ends, so that raise_sequence, which comes after it, never sets it back; it waits for writers that have drawn.
DO $$
BEGIN
    ALTER SEQUENCE dms.ChangeVersionSequence INCREMENT BY 1 NO MAXVALUE NO CYCLE CACHE 1;
    ALTER SEQUENCE dms.ChangeVersionSequence SET LOGGED;
END $$
