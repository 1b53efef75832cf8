-- sql/sqlserver/triggers/document_delete_first.v1.sql: options images and context: the tombstone is there before their triggers look for it.
-- A trigger that is dropped and made anew has no place any more: verify looks for this one, and repair sets it again after each replacement.
DECLARE @other nvarchar(256), @message nvarchar(2048);
SELECT @other = MIN(t.name)
FROM sys.triggers AS t INNER JOIN sys.trigger_events AS e ON e.object_id = t.object_id
WHERE t.parent_id = OBJECT_ID(N'dms.Document') AND e.type = 3 AND e.is_first = 1 AND t.object_id <> OBJECT_ID(N'dms.TR_Document_Delete');
IF @other IS NOT NULL
BEGIN
    SET @message = CONCAT(N'trigger ', @other, N' of another program is the first to fire for a DELETE of dms.Document, and only one can be: dms.TR_Document_Delete must be. '
        + N'Give it another place (sp_settriggerorder ''dms.', @other, N''', ''None'', ''DELETE''), and try again.');
    THROW 50006, @message, 1;
END;
EXEC sys.sp_settriggerorder @triggername = N'dms.TR_Document_Delete', @order = N'First', @stmttype = N'DELETE';
