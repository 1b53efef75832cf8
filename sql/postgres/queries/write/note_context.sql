-- sql/postgres/queries/write/note_context.sql: option context: has what set_context said noted at once, for what this transaction has stamped so far:
-- an update of no document fires the trigger all the same.
UPDATE dms.Document SET ContentVersion = ContentVersion WHERE false
