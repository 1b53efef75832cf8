-- sql/postgres/queries/status_triggers.sql: each trigger that the journal needs, and whether it fires in an ordinary session.
-- Gives: table_name; trigger_name; state: enabled, disabled (or of replica role only) or missing. What a trigger does is not looked at.
SELECT needed.table_name, needed.trigger_name,
       CASE WHEN found.tgenabled IS NULL THEN 'missing' WHEN found.tgenabled IN ('O', 'A') THEN 'enabled' ELSE 'disabled' END AS state
FROM (VALUES
    (1, 'Document', 'TR_Document_Enter'),
    (2, 'Document', 'ZZ_Document_StampInsert'),
    (3, 'Document', 'ZZ_Document_StampUpdate'),
    (4, 'Document', 'TR_Document_Insert'),
    (5, 'Document', 'TR_Document_Update'),
    (6, 'Document', 'TR_Document_Identity'),
    (7, 'Document', 'TR_Document_Delete'),
    (8, 'Document', 'TR_Document_Truncate'),
    (9, 'ReferenceEdge', 'ZZ_ReferenceEdge_ParentResource'),
    (10, 'ReferenceEdge', 'TR_ReferenceEdge_Insert'),
    (11, 'ReferenceEdge', 'TR_ReferenceEdge_Delete'),
    (12, 'ReferenceEdge', 'TR_ReferenceEdge_Update'),
    (13, 'ReferenceEdge', 'TR_ReferenceEdge_Truncate'),
    (14, 'ResourceDependency', 'TR_ResourceDependency_Truncate'),
    (15, 'DocumentChangeEvent', 'TR_DocumentChangeEvent_Truncate'),
    (16, 'IdentityChangeEvent', 'TR_IdentityChangeEvent_Truncate'),
    (17, 'DocumentDeleteEvent', 'TR_DocumentDeleteEvent_Truncate'),
    (18, 'KeyChangeEvent', 'TR_KeyChangeEvent_Truncate'),
    (19, 'JournalFloor', 'TR_JournalFloor_Truncate'),
    (20, 'ChangeConsumer', 'TR_ChangeConsumer_Truncate')
) AS needed (ordinal, table_name, trigger_name)
LEFT JOIN pg_trigger AS found
    ON found.tgrelid = to_regclass('dms.' || needed.table_name) AND found.tgname = lower(needed.trigger_name) AND NOT found.tgisinternal
ORDER BY needed.ordinal
