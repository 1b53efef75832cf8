-- sql/postgres/tables/hold_everybody.v1.sql: nobody is on the documents or the edges while triggers go. Waits at most for lock_timeout.
LOCK TABLE dms.Document, dms.ReferenceEdge IN ACCESS EXCLUSIVE MODE;
