-- sql/sqlserver/adopt/switched.sql: the journal's own triggers see to versions and to ParentResourceKeyId now.
DROP TRIGGER IF EXISTS dms.ZZ_ReferenceEdge_Adoption;
DROP TRIGGER IF EXISTS dms.TR_Document_Adoption;
