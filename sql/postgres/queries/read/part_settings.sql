-- sql/postgres/queries/read/part_settings.sql: begins the transaction that reads a part of a plan. A part is read to its end, so its plan must not
-- be the one that gives the first rows soonest, which a cursor gets; and it is lookups, for which nothing needs compiling. Settings of the
-- transaction, since a pooler gives the session to other programs (invariant 12).
SELECT set_config('cursor_tuple_fraction', '1', true), set_config('jit', 'off', true)
