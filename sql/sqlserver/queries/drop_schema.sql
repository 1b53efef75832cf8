-- sql/sqlserver/queries/drop_schema.sql: removes a journal with its documents. For the demo, which brought both.
SET NOCOUNT ON;
DROP VIEW IF EXISTS dms.ResourceChange;
DROP TABLE IF EXISTS dms.TruncateGuard, dms.ResourceDependency, dms.ReferenceEdge, dms.DocumentCache, dms.Document, dms.ResourceKey,
    dms.DocumentChangeEvent, dms.IdentityChangeEvent, dms.KeyChangeEvent, dms.DocumentDeleteEvent, dms.JournalFloor, dms.ChangeConsumer,
    dms.MaxDepIdentityPending, dms.alembic_version;
DROP PROCEDURE IF EXISTS dms.horizon, dms.oldest_floor, dms.enter_change, dms.remembered_floor, dms.this_transaction, dms.newest_stamp,
    dms.fill_max_dep;
DROP SEQUENCE IF EXISTS dms.ChangeVersionSequence;
DROP SCHEMA IF EXISTS dms;
