-- sql/postgres/roles/consumer.sql: optional. What a registered consumer needs besides a reader's rights; run it as the installing role:
--   psql -v consumer=app_reader -f consumer.sql "$DATABASE"
-- It registers, moves, holds and drops consumers of its own, and no other role's. It has no right to write to dms.ChangeConsumer, so it cannot
-- lock that table or a row of it. See docs/dba/roles.md.
\set ON_ERROR_STOP on
BEGIN;
SET LOCAL search_path = pg_catalog, pg_temp;
GRANT EXECUTE ON FUNCTION dms.register_consumer(text, bigint, bigint, text) TO :"consumer";
GRANT EXECUTE ON FUNCTION dms.move_consumer(text, bigint, bigint, text, boolean) TO :"consumer";
GRANT EXECUTE ON FUNCTION dms.drop_consumer(text) TO :"consumer";
GRANT EXECUTE ON FUNCTION dms.hold_lease(text, uuid, text, integer, boolean) TO :"consumer";
COMMIT;
