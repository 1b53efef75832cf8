-- sql/postgres/queries/operate/prune_drop.sql: option partitions: drops a part of a journal that is at or below its floor. Run it in a transaction of its own.
-- Binds: journal; partition; readers (JSON array: who was open after the floor had risen). Gives: dropped; false while one of them is open.
SELECT dms.drop_partition(:journal, :partition, ARRAY(SELECT jsonb_array_elements_text(CAST(:readers AS jsonb)))) AS dropped
