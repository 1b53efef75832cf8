-- sql/postgres/queries/read/begin_part.sql: before a part of a plan is read. Gives: isolation, the level in which several statements see one moment.
SELECT 'REPEATABLE READ' AS isolation
