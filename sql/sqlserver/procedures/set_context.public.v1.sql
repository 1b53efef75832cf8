-- sql/sqlserver/procedures/set_context.public.v1.sql: everybody may call it: it is the caller's own session that it writes.
GRANT EXECUTE ON dms.set_context TO public;
