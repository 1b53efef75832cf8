-- sql/sqlserver/triggers/reference_edge_stamped_parents.drop.sql
DROP TRIGGER dms.TR_ReferenceEdge_StampedParents;
