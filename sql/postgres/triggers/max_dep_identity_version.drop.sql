-- sql/postgres/triggers/max_dep_identity_version.drop.sql
DROP TRIGGER TR_Document_KeepMaxDepInsert ON dms.Document;
DROP TRIGGER TR_Document_KeepMaxDepUpdate ON dms.Document;
DROP TRIGGER TR_Document_NoteIdentity ON dms.Document;
DROP TRIGGER TR_MaxDepIdentityPending_Raise ON dms.MaxDepIdentityPending;
DROP TRIGGER TR_MaxDepIdentityPending_Truncate ON dms.MaxDepIdentityPending;
