-- sql/sqlserver/triggers/reference_edge.drop.sql
DROP TRIGGER dms.TR_ReferenceEdge_Stamp;
