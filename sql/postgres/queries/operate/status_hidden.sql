-- sql/postgres/queries/operate/status_hidden.sql: what the role may not see of what the other status queries look at, and what would show it.
-- Gives: part: last_stamp, or sessions (status_holders.sql has gaps); what; remedy.
SELECT part, what, remedy
FROM (VALUES
    (1, has_sequence_privilege('dms.ChangeVersionSequence', 'SELECT, USAGE'),
     'last_stamp', 'the last stamp', 'GRANT SELECT ON SEQUENCE dms.ChangeVersionSequence'),
    (2, pg_has_role('pg_read_all_stats', 'USAGE'),
     'sessions', 'client, state and age of other roles'' transactions', 'GRANT pg_read_all_stats')
) AS looked (ordinal, is_seen, part, what, remedy)
WHERE NOT is_seen
ORDER BY ordinal
