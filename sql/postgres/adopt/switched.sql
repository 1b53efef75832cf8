-- sql/postgres/adopt/switched.sql: the journal's own triggers see to versions and to ParentResourceKeyId now.
DROP TRIGGER IF EXISTS ZZ_ReferenceEdge_Adoption ON dms.ReferenceEdge;
DROP FUNCTION IF EXISTS dms.adopt_parent_resource();
ALTER TABLE dms.ReferenceEdge ALTER COLUMN ParentResourceKeyId DROP DEFAULT;
DROP TRIGGER IF EXISTS TR_Document_Adoption ON dms.Document;
DROP FUNCTION IF EXISTS dms.adopt_document_values();
