-- sql/sqlserver/queries/status_triggers.sql: each trigger that the journal needs, and whether it fires.
-- Gives: table_name; trigger_name; state: enabled, disabled, missing, or hidden where the user could not see one. What a trigger does is
--   not looked at.
SELECT needed.table_name, needed.trigger_name,
       CASE WHEN found.is_disabled = 0 THEN 'enabled' WHEN found.is_disabled = 1 THEN 'disabled'
            WHEN HAS_PERMS_BY_NAME(N'dms.' + needed.table_name, N'OBJECT', N'VIEW DEFINITION') = 1 THEN 'missing' ELSE 'hidden' END AS state
FROM (VALUES
    (1, N'Document', N'TR_Document_Stamp'),
    (2, N'Document', N'TR_Document_Delete'),
    (3, N'ReferenceEdge', N'TR_ReferenceEdge_Stamp')
) AS needed (ordinal, table_name, trigger_name)
LEFT JOIN sys.triggers AS found
    ON found.parent_id = OBJECT_ID(N'dms.' + needed.table_name) AND LOWER(found.name) = LOWER(needed.trigger_name)
ORDER BY needed.ordinal;
