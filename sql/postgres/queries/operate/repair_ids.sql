-- sql/postgres/queries/operate/repair_ids.sql: the sequences of ids go on above the ids that are there, so that no writer meets one; see verify_ids.sql.
-- An upper half is left out: there the sequence only passes the ids that are next. The lock keeps the writers that would draw meanwhile.
DO $$
DECLARE
    numbered record;
    given bigint;
    highest bigint;
    sequence text;
BEGIN
    FOR numbered IN
        SELECT * FROM (VALUES ('document', 'documentid', 4611686018427387904), ('resourcekey', 'resourcekeyid', 16384)) AS listed (name, id, half)
    LOOP
        EXECUTE format('LOCK TABLE dms.%I IN SHARE ROW EXCLUSIVE MODE', numbered.name);
        sequence := pg_get_serial_sequence('dms.' || numbered.name, numbered.id);
        given := coalesce(pg_sequence_last_value(sequence),  -- without the right: null on PostgreSQL 18, and currval refuses in words
                          CASE WHEN NOT has_sequence_privilege(sequence, 'SELECT, USAGE') THEN currval(sequence) END, 0);
        EXECUTE format('SELECT max(%1$I) FROM dms.%2$I WHERE %1$I < $1', numbered.id, numbered.name) INTO highest USING numbered.half;
        given := greatest(given, highest);
        EXECUTE format('SELECT min(run.id) FROM (SELECT %1$I AS id, lead(%1$I) OVER (ORDER BY %1$I) AS next FROM dms.%2$I WHERE %1$I > $1) AS run '
                       'WHERE run.next IS DISTINCT FROM run.id + 1 AND EXISTS (SELECT FROM dms.%2$I WHERE %1$I = $1 + 1)',
                       numbered.id, numbered.name) INTO highest USING given;
        given := greatest(given, highest);
        IF given > 0 THEN
            PERFORM setval(sequence, given);
        END IF;
    END LOOP;
END $$
