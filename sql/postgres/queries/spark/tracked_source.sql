-- sql/postgres/queries/spark/tracked_source.sql: a source of changes or documents with the bodies of tracked rows (functions/tracked_source.v1.sql).
-- Binds: resource_key_ids (JSON array); source (a query). Gives: source.
SELECT dms.tracked_source(ARRAY(SELECT CAST(value AS smallint) FROM jsonb_array_elements_text(CAST(:resource_key_ids AS jsonb)) AS listed (value)),
                          CAST(:source AS text)) AS source
