-- sql/postgres/queries/write/set_context.sql: what causes the changes of this transaction from here on. Binds: context (a JSON object as text; {}
-- for nothing).
SELECT set_config('dmsjournal.context', CAST(:context AS text), true)
