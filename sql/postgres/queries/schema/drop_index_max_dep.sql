-- sql/postgres/queries/schema/drop_index_max_dep.sql: takes away what an interrupted index_max_dep.sql has left, while writers go on; outside a transaction.
DROP INDEX CONCURRENTLY IF EXISTS dms.IX_Document_MaxDepIdentityVersion
