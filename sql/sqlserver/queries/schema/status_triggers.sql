-- sql/sqlserver/queries/schema/status_triggers.sql: each trigger that the journal and its options need, and whether it fires; those that an adoption
-- has left for programs that go on as before, as long as they are there: nothing else remembers them.
-- Gives: table_name; trigger_name; state: enabled, disabled, missing, or hidden where the user could not see one. What a trigger does is
--   not looked at.
SELECT needed.table_name, needed.trigger_name,
       CASE WHEN found.is_disabled = 0 THEN 'enabled' WHEN found.is_disabled = 1 THEN 'disabled'
            WHEN HAS_PERMS_BY_NAME(N'dms.' + needed.table_name, N'OBJECT', N'VIEW DEFINITION') = 1 THEN 'missing' ELSE 'hidden' END AS state
FROM (VALUES
    (1, NULL, N'Document', N'TR_Document_Stamp'),
    (2, NULL, N'Document', N'TR_Document_Delete'),
    (3, NULL, N'ReferenceEdge', N'TR_ReferenceEdge_Stamp'),
    (4, N'MaxDepIdentityPending', N'Document', N'TR_Document_StampedParents'),
    (5, N'MaxDepIdentityPending', N'ReferenceEdge', N'TR_ReferenceEdge_StampedParents'),
    (6, N'DocumentImage', N'DocumentCache', N'TR_DocumentCache_Image'),
    (7, N'DocumentImage', N'Document', N'TR_Document_Image'),
    (8, N'DocumentImage', N'Document', N'TR_Document_DeleteImage'),
    (9, N'ChangeContext', N'Document', N'TR_Document_TellContext'),
    (10, N'TR_Document_Content', N'Document', N'TR_Document_Content'),
    (11, N'TR_Document_Names', N'Document', N'TR_Document_Names'),
    (12, N'TR_Document_Renamed', N'Document', N'TR_Document_Renamed')
) AS needed (ordinal, with_object, table_name, trigger_name)  -- with an option's table, or while it is there itself
LEFT JOIN sys.triggers AS found
    ON found.parent_id = OBJECT_ID(N'dms.' + needed.table_name) AND LOWER(found.name COLLATE Latin1_General_100_BIN2) = LOWER(needed.trigger_name COLLATE Latin1_General_100_BIN2)
WHERE needed.with_object IS NULL OR OBJECT_ID(N'dms.' + needed.with_object) IS NOT NULL
ORDER BY needed.ordinal;
