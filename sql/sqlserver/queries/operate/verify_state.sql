-- sql/sqlserver/queries/operate/verify_state.sql: the sequence, and what must lie below it.
-- Gives: source (sequence, a journal's name, or consumer and its name), lowest, newest, newest_at, floor, pruned_at; null where there is
-- none. newest_at is text, for verify_documents and verify_tombstones to compare with: a time of the driver's has fewer digits than a row's,
-- and all rows of a statement may have the same. In this order, so that no writer makes it look wrong: the floors, since pruning raises
-- them with what it removes; the rows; the sequence, which is above whatever was seen before.
-- Plan:  both ends of each journal's primary key.
SET NOCOUNT ON;
DECLARE @state TABLE (
    source    nvarchar(300) NOT NULL,
    lowest    bigint        NULL,
    newest    bigint        NULL,
    newest_at datetime2(7)  NULL,
    floor     bigint        NULL,
    pruned_at datetime2(7)  NULL
);
DECLARE @newest bigint;
INSERT INTO @state (source, floor, pruned_at)
SELECT journal.name, known.ChangeVersion, known.PrunedAt
FROM (
    SELECT N'DocumentChangeEvent' AS name UNION ALL SELECT N'IdentityChangeEvent' UNION ALL SELECT N'KeyChangeEvent'
    UNION ALL SELECT N'DocumentDeleteEvent'
) AS journal
LEFT JOIN dms.JournalFloor AS known ON known.Journal = journal.name;
UPDATE @state
SET lowest = (SELECT MIN(ChangeVersion) FROM dms.DocumentChangeEvent), newest = (SELECT MAX(ChangeVersion) FROM dms.DocumentChangeEvent),
    newest_at = (SELECT TOP (1) CreatedAt FROM dms.DocumentChangeEvent ORDER BY ChangeVersion DESC)
WHERE source = N'DocumentChangeEvent';
UPDATE @state
SET lowest = (SELECT MIN(ChangeVersion) FROM dms.IdentityChangeEvent), newest = (SELECT MAX(ChangeVersion) FROM dms.IdentityChangeEvent),
    newest_at = (SELECT TOP (1) CreatedAt FROM dms.IdentityChangeEvent ORDER BY ChangeVersion DESC)
WHERE source = N'IdentityChangeEvent';
UPDATE @state
SET lowest = (SELECT MIN(ChangeVersion) FROM dms.KeyChangeEvent), newest = (SELECT MAX(ChangeVersion) FROM dms.KeyChangeEvent),
    newest_at = (SELECT TOP (1) CreatedAt FROM dms.KeyChangeEvent ORDER BY ChangeVersion DESC)
WHERE source = N'KeyChangeEvent';
UPDATE @state
SET lowest = (SELECT MIN(ChangeVersion) FROM dms.DocumentDeleteEvent), newest = (SELECT MAX(ChangeVersion) FROM dms.DocumentDeleteEvent),
    newest_at = (SELECT TOP (1) CreatedAt FROM dms.DocumentDeleteEvent ORDER BY ChangeVersion DESC)
WHERE source = N'DocumentDeleteEvent';
INSERT INTO @state (source, newest, newest_at) SELECT N'consumer ' + Name, ChangeVersion, UpdatedAt FROM dms.ChangeConsumer;
EXEC dms.newest_stamp @newest OUTPUT;
INSERT INTO @state (source, newest) VALUES (N'sequence', @newest);
SELECT source, lowest, newest, CONVERT(nvarchar(33), newest_at, 126) AS newest_at, floor, pruned_at FROM @state;
