-- sql/postgres/queries/operate/track.sql: tracks a table (functions/track.v1.sql). Binds: table_name, project, resource, version, key (texts; null where not given);
-- shows, columns (JSON arrays of names; null where not given); bodies, trust (truth values). Gives: tracked_table_id. In a migration of others it runs with
-- their search_path, in which another role may have a function that fits better than array_agg(anynonarray).
SELECT dms.track(
    CAST(:table_name AS text), project => CAST(:project AS text), resource => CAST(:resource AS text), version => CAST(:version AS text),
    shows => (SELECT pg_catalog.array_agg(CAST(c.value AS name)) FROM pg_catalog.jsonb_array_elements_text(CAST(:shows AS jsonb)) AS c),
    columns => (SELECT pg_catalog.array_agg(CAST(c.value AS name)) FROM pg_catalog.jsonb_array_elements_text(CAST(:columns AS jsonb)) AS c),
    key => CAST(:key AS name), bodies => CAST(:bodies AS boolean), trust => CAST(:trust AS boolean)) AS tracked_table_id
