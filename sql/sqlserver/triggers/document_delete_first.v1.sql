-- sql/sqlserver/triggers/document_delete_first.v1.sql: options images and context: the tombstone is there before their triggers look for it.
EXEC sys.sp_settriggerorder @triggername = N'dms.TR_Document_Delete', @order = N'First', @stmttype = N'DELETE';
