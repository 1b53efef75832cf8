-- sql/sqlserver/queries/read/dependencies.sql: which resources refer to which: a pair once seen stays, whether or not it still has documents.
-- Gives: parent_id, child_id, in order. Plan: all of dms.ResourceDependency, a row for each pair of resources.
SELECT ParentResourceKeyId AS parent_id, ChildResourceKeyId AS child_id
FROM dms.ResourceDependency
ORDER BY ParentResourceKeyId, ChildResourceKeyId;
