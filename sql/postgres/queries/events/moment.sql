-- sql/postgres/queries/events/moment.sql: the database's clock, and the newest stamp that the sequence has given after it.
-- Gives: one row: now; drawn, 0 where none was given. now is read first: a stamp above drawn is drawn later, and so is its event's time.
-- Plan: the sequence's one row. statement_timestamp() is when the server received the statement, so before it reads the sequence.
SELECT statement_timestamp() AS now, CASE WHEN is_called THEN last_value ELSE 0 END AS drawn FROM dms.ChangeVersionSequence
