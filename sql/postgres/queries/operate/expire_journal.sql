-- sql/postgres/queries/operate/expire_journal.sql: what a journal has lost is recorded as expiry: its floor becomes a stamp of its own, so that
-- whoever goes on from before it is told to read in full. Runs after enter_change. PrunedAt is null: no row was removed up to there.
-- Binds: journal.
INSERT INTO dms.JournalFloor AS known (Journal, ChangeVersion, PrunedAt)
VALUES (CAST(:journal AS text), nextval('dms.ChangeVersionSequence'), NULL)
ON CONFLICT (Journal) DO UPDATE SET ChangeVersion = greatest(known.ChangeVersion, excluded.ChangeVersion), PrunedAt = NULL
