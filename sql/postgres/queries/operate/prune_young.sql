-- sql/postgres/queries/operate/prune_young.sql: the lowest version of an event that is younger than an age, null where all are older.
-- Binds: age_seconds; max_version (inclusive, a horizon). By the database's clock, which times the events too. Versions rise with time, but
-- not strictly: so it is the first young event that counts, and every event below it is older. An infinite time tells nothing: else the event
-- would be young for ever, and all above it kept.
-- Plan: the primary keys from their beginning on: what it reads is what may be pruned.
SELECT min(ChangeVersion) AS first_version
FROM (
    (SELECT ChangeVersion FROM dms.DocumentChangeEvent
     WHERE ChangeVersion <= CAST(:max_version AS bigint)
       AND CreatedAt < 'infinity' AND CreatedAt >= statement_timestamp() - make_interval(secs => CAST(:age_seconds AS double precision))
     ORDER BY ChangeVersion LIMIT 1)
    UNION ALL
    (SELECT ChangeVersion FROM dms.IdentityChangeEvent
     WHERE ChangeVersion <= CAST(:max_version AS bigint)
       AND CreatedAt < 'infinity' AND CreatedAt >= statement_timestamp() - make_interval(secs => CAST(:age_seconds AS double precision))
     ORDER BY ChangeVersion LIMIT 1)
    UNION ALL
    (SELECT ChangeVersion FROM dms.KeyChangeEvent
     WHERE ChangeVersion <= CAST(:max_version AS bigint)
       AND CreatedAt < 'infinity' AND CreatedAt >= statement_timestamp() - make_interval(secs => CAST(:age_seconds AS double precision))
     ORDER BY ChangeVersion LIMIT 1)
    UNION ALL
    (SELECT ChangeVersion FROM dms.DocumentDeleteEvent
     WHERE ChangeVersion <= CAST(:max_version AS bigint)
       AND CreatedAt < 'infinity' AND CreatedAt >= statement_timestamp() - make_interval(secs => CAST(:age_seconds AS double precision))
     ORDER BY ChangeVersion LIMIT 1)
) AS young
