-- sql/sqlserver/triggers/document_stamped_parents.drop.sql
DROP TRIGGER dms.TR_Document_StampedParents;
