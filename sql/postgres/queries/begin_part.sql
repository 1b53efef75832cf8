-- sql/postgres/queries/begin_part.sql: before a part of a plan is read, on a connection of its own. A part is read to its end, so its plan
-- must not be the one that gives the first rows soonest, which a cursor gets; and it is lookups, for which nothing needs compiling.
-- Gives: isolation, the level in which several statements see one moment.
SELECT 'REPEATABLE READ' AS isolation, set_config('cursor_tuple_fraction', '1', false), set_config('jit', 'off', false)
