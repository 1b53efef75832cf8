-- sql/postgres/queries/schema/adopt_reach.sql: a batch of a fill is done, in its transaction. Binds: fill, through_id.
INSERT INTO dms.Adoption (Fill, Through) VALUES (:fill, :through_id)
ON CONFLICT (Fill) DO UPDATE SET Through = excluded.Through
