-- sql/postgres/triggers/reference_edge.drop.sql
DROP TRIGGER ZZ_ReferenceEdge_ParentResource ON dms.ReferenceEdge;
DROP TRIGGER TR_ReferenceEdge_Insert ON dms.ReferenceEdge;
DROP TRIGGER TR_ReferenceEdge_Delete ON dms.ReferenceEdge;
DROP TRIGGER TR_ReferenceEdge_Update ON dms.ReferenceEdge;
