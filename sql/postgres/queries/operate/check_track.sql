-- sql/postgres/queries/operate/check_track.sql: checks the names that track.sql would be given, and whether the table can be tracked. Binds: table_name, shows,
-- columns (arrays of names, or null), key, trust, as track.sql. Gives: relation_id.
SELECT dms.check_asked(
    CAST(:table_name AS text), (SELECT array_agg(CAST(c.value AS name)) FROM jsonb_array_elements_text(CAST(:shows AS jsonb)) AS c),
    (SELECT array_agg(CAST(c.value AS name)) FROM jsonb_array_elements_text(CAST(:columns AS jsonb)) AS c), CAST(:key AS name), CAST(:trust AS boolean)) AS relation_id
