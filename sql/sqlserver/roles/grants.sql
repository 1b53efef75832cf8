-- sql/sqlserver/roles/grants.sql: optional. A writer, a reader, a pruner and nobody else; run it as the installing user, after the upgrade:
--   sqlcmd -b -I -v writer=app_writer reader=app_reader pruner=app_pruner -i grants.sql
-- The writer needs nothing on the journals: triggers of the same owner fill them (ownership chaining), and the writer can neither add,
-- change nor delete a row there. The reader reads everything and writes nothing. The pruner deletes events, raises floors and keeps the list
-- of consumers; it sees no document. Reader and pruner need VIEW SERVER STATE besides, to see the writers' locks (VIEW SERVER PERFORMANCE
-- STATE from SQL Server 2022 on, VIEW DATABASE STATE in Azure SQL Database), or sign_horizon.sql. See docs/dba/sqlserver.md.
SET XACT_ABORT ON;
BEGIN TRANSACTION;
GRANT SELECT, INSERT, UPDATE, DELETE ON dms.Document TO [$(writer)];
GRANT SELECT, INSERT, UPDATE, DELETE ON dms.DocumentCache TO [$(writer)];
GRANT SELECT, INSERT, UPDATE, DELETE ON dms.ReferenceEdge TO [$(writer)];
GRANT SELECT, INSERT ON dms.ResourceKey TO [$(writer)];
GRANT SELECT ON dms.ResourceDependency TO [$(writer)];
GRANT SELECT ON dms.DocumentDeleteEvent TO [$(writer)];
GRANT SELECT ON dms.alembic_version TO [$(writer)];
GRANT EXECUTE ON dms.lock_keys TO [$(writer)];
GRANT SELECT ON SCHEMA::dms TO [$(reader)];
GRANT EXECUTE ON dms.horizon TO [$(reader)];
GRANT EXECUTE ON dms.newest_stamp TO [$(reader)];
GRANT EXECUTE ON dms.oldest_floor TO [$(reader)];
GRANT VIEW DEFINITION ON SCHEMA::dms TO [$(reader)];  -- for verify and status, as the two lines above
GRANT SELECT, DELETE ON dms.DocumentChangeEvent TO [$(pruner)];
GRANT SELECT, DELETE ON dms.IdentityChangeEvent TO [$(pruner)];
GRANT SELECT, DELETE ON dms.KeyChangeEvent TO [$(pruner)];
GRANT SELECT, DELETE ON dms.DocumentDeleteEvent TO [$(pruner)];
GRANT SELECT, UPDATE ON dms.JournalFloor TO [$(pruner)];
GRANT SELECT ON dms.ChangeConsumer TO [$(pruner)];
GRANT EXECUTE ON dms.register_consumer TO [$(pruner)];  -- of every user's consumers: it may delete events (procedures/check_consumer.v1.sql)
GRANT EXECUTE ON dms.move_consumer TO [$(pruner)];
GRANT EXECUTE ON dms.drop_consumer TO [$(pruner)];
GRANT EXECUTE ON dms.check_consumer TO [$(pruner)];
GRANT EXECUTE ON dms.hold_lease TO [$(pruner)];
GRANT EXECUTE ON dms.lock_consumers TO [$(pruner)];
GRANT SELECT ON dms.alembic_version TO [$(pruner)];
GRANT EXECUTE ON dms.horizon TO [$(pruner)];
GRANT EXECUTE ON dms.newest_stamp TO [$(pruner)];
GRANT EXECUTE ON dms.oldest_floor TO [$(pruner)];
IF OBJECT_ID(N'dms.drop_partition') IS NOT NULL  -- option partitions
    EXEC (N'GRANT EXECUTE ON dms.drop_partition TO [$(pruner)]; GRANT SELECT ON dms.JournalPartition TO [$(pruner)];');
IF OBJECT_ID(N'dms.DocumentImage') IS NOT NULL  -- option images, without the bodies
    EXEC (N'GRANT DELETE ON dms.DocumentImage TO [$(pruner)]; GRANT SELECT (ChangeVersion, DocumentId, IsDelete) ON dms.DocumentImage TO [$(pruner)]; GRANT SELECT, UPDATE ON dms.DocumentImageFloor TO [$(pruner)];');
IF OBJECT_ID(N'dms.ChangeContext') IS NOT NULL  -- option context
    EXEC (N'GRANT SELECT, DELETE ON dms.ChangeContext TO [$(pruner)];');
IF OBJECT_ID(N'dms.TrackedTable') IS NOT NULL  -- option tracking; the reader of a row's body needs SELECT on its table as well
    EXEC (N'GRANT SELECT ON dms.TrackedTable TO [$(writer)]; GRANT EXECUTE ON dms.tracked_bodies TO [$(reader)]; GRANT EXECUTE ON dms.check_tracked_rows TO [$(reader)]; GRANT EXECUTE ON dms.check_tracked_documents TO [$(reader)];');
COMMIT;
GO
