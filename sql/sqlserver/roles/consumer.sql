-- sql/sqlserver/roles/consumer.sql: optional. What a registered consumer needs besides a reader's rights; run it as the installing user:
--   sqlcmd -b -I -v consumer=app_reader -i consumer.sql
-- It registers, moves, holds and drops consumers of its own, and no other user's, and has no right to write to dms.ChangeConsumer. Whoever may
-- read a table may lock it by a hint (UPDLOCK, TABLOCKX): our commands wait no longer than their lock timeout. See docs/dba/roles.md.
SET XACT_ABORT ON;
BEGIN TRANSACTION;
GRANT EXECUTE ON dms.register_consumer TO [$(consumer)];
GRANT EXECUTE ON dms.move_consumer TO [$(consumer)];
GRANT EXECUTE ON dms.drop_consumer TO [$(consumer)];
GRANT EXECUTE ON dms.check_consumer TO [$(consumer)];
GRANT EXECUTE ON dms.hold_lease TO [$(consumer)];
COMMIT;
GO
