-- sql/postgres/queries/operate/note_tracked.sql: checks what track.sql would be given, and writes it down for a plan, which is rolled back; no lock on the
-- table is taken. Binds: as track.sql. Gives: relation_id.
SELECT dms.note_tracked(
    CAST(:table_name AS text), CAST(:project AS text), CAST(:resource AS text), CAST(:version AS text),
    (SELECT array_agg(CAST(c.value AS name)) FROM jsonb_array_elements_text(CAST(:shows AS jsonb)) AS c),
    (SELECT array_agg(CAST(c.value AS name)) FROM jsonb_array_elements_text(CAST(:columns AS jsonb)) AS c),
    CAST(:key AS name), CAST(:bodies AS boolean), CAST(:trust AS boolean)) AS relation_id
