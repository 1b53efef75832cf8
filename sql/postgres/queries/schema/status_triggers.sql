-- sql/postgres/queries/schema/status_triggers.sql: each trigger that the journal and its options need, or that an adoption has left for programs
-- that go on as before, and whether it fires in an ordinary session.
-- Gives: table_name; trigger_name; state: enabled, disabled (or of replica role only) or missing. What a trigger does is not looked at.
SELECT needed.table_name, needed.trigger_name,
       CASE WHEN found.tgenabled IS NULL THEN 'missing' WHEN found.tgenabled IN ('O', 'A') THEN 'enabled' ELSE 'disabled' END AS state
FROM (VALUES
    (1, NULL, 'Document', 'TR_Document_Enter'),
    (2, NULL, 'Document', 'ZZ_Document_StampInsert'),
    (3, NULL, 'Document', 'ZZ_Document_StampUpdate'),
    (4, NULL, 'Document', 'TR_Document_Insert'),
    (5, NULL, 'Document', 'TR_Document_Update'),
    (6, NULL, 'Document', 'TR_Document_Identity'),
    (7, NULL, 'Document', 'TR_Document_Delete'),
    (8, NULL, 'Document', 'TR_Document_Truncate'),
    (9, NULL, 'ReferenceEdge', 'ZZ_ReferenceEdge_ParentResource'),
    (10, NULL, 'ReferenceEdge', 'TR_ReferenceEdge_Insert'),
    (11, NULL, 'ReferenceEdge', 'TR_ReferenceEdge_Delete'),
    (12, NULL, 'ReferenceEdge', 'TR_ReferenceEdge_Update'),
    (13, NULL, 'ReferenceEdge', 'TR_ReferenceEdge_Truncate'),
    (14, NULL, 'ResourceDependency', 'TR_ResourceDependency_Truncate'),
    (15, NULL, 'DocumentChangeEvent', 'TR_DocumentChangeEvent_Truncate'),
    (16, NULL, 'IdentityChangeEvent', 'TR_IdentityChangeEvent_Truncate'),
    (17, NULL, 'DocumentDeleteEvent', 'TR_DocumentDeleteEvent_Truncate'),
    (18, NULL, 'KeyChangeEvent', 'TR_KeyChangeEvent_Truncate'),
    (19, NULL, 'JournalFloor', 'TR_JournalFloor_Truncate'),
    (20, NULL, 'ChangeConsumer', 'TR_ChangeConsumer_Truncate'),
    (20, NULL, 'ChangeConsumer', 'ZZ_ChangeConsumer_Keep'),
    (21, 'MaxDepIdentityPending', 'Document', 'TR_Document_KeepMaxDepInsert'),
    (22, 'MaxDepIdentityPending', 'Document', 'TR_Document_KeepMaxDepUpdate'),
    (23, 'MaxDepIdentityPending', 'Document', 'TR_Document_NoteIdentity'),
    (24, 'MaxDepIdentityPending', 'MaxDepIdentityPending', 'TR_MaxDepIdentityPending_Raise'),
    (25, 'MaxDepIdentityPending', 'MaxDepIdentityPending', 'TR_MaxDepIdentityPending_Truncate'),
    (26, 'DocumentImage', 'DocumentCache', 'TR_DocumentCache_Image'),
    (27, 'DocumentImage', 'DocumentCache', 'TR_DocumentCache_ImageUpdate'),
    (28, 'DocumentImage', 'DocumentCache', 'TR_DocumentCache_Truncate'),
    (29, 'DocumentImage', 'Document', 'TR_Document_Image'),
    (30, 'DocumentImage', 'Document', 'TR_Document_DeleteImage'),
    (31, 'DocumentImage', 'DocumentImage', 'TR_DocumentImage_Truncate'),
    (32, 'ChangeContext', 'Document', 'TR_Document_TellContext'),
    (33, 'ChangeContext', 'ChangeContext', 'TR_ChangeContext_Close'),
    (34, 'ChangeContext', 'ChangeContext', 'TR_ChangeContext_Truncate'),
    (35, 'signal_content', 'Document', 'TR_Document_Content'),
    (36, 'keep_resource_names', 'Document', 'TR_Document_Names')
) AS needed (ordinal, with_object, table_name, trigger_name)  -- with an option's table, or an adoption's function
LEFT JOIN pg_trigger AS found
    ON found.tgrelid = to_regclass('dms.' || needed.table_name) AND found.tgname = lower(needed.trigger_name) AND NOT found.tgisinternal
WHERE needed.with_object IS NULL OR to_regclass('dms.' || needed.with_object) IS NOT NULL OR to_regproc('dms.' || needed.with_object) IS NOT NULL
ORDER BY needed.ordinal
