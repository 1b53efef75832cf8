-- sql/sqlserver/queries/operate/prune_young.sql: the lowest version of an event that is younger than an age, null where all are older.
-- Binds: age_seconds; max_version (inclusive, a horizon). By the database's clock, which times the events too. Versions rise with time, but
-- not strictly: so it is the first young event that counts, and every event below it is older.
-- Plan: the primary keys from their beginning on: what it reads is what may be pruned.
SET NOCOUNT ON;
DECLARE @max_version bigint = :max_version, @age_seconds bigint = :age_seconds;
DECLARE @cutoff datetime2(7) = DATEADD(SECOND, -(@age_seconds % 86400), DATEADD(DAY, -(@age_seconds / 86400), SYSUTCDATETIME()));
SELECT MIN(youngest.ChangeVersion) AS first_version
FROM (
    SELECT young.ChangeVersion
    FROM (SELECT TOP (1) ChangeVersion FROM dms.DocumentChangeEvent WITH (INDEX (PK_DocumentChangeEvent))
          WHERE ChangeVersion <= @max_version AND CreatedAt >= @cutoff ORDER BY ChangeVersion) AS young
    UNION ALL
    SELECT young.ChangeVersion
    FROM (SELECT TOP (1) ChangeVersion FROM dms.IdentityChangeEvent WITH (INDEX (PK_IdentityChangeEvent))
          WHERE ChangeVersion <= @max_version AND CreatedAt >= @cutoff ORDER BY ChangeVersion) AS young
    UNION ALL
    SELECT young.ChangeVersion
    FROM (SELECT TOP (1) ChangeVersion FROM dms.KeyChangeEvent WITH (INDEX (PK_KeyChangeEvent))
          WHERE ChangeVersion <= @max_version AND CreatedAt >= @cutoff ORDER BY ChangeVersion) AS young
    UNION ALL
    SELECT young.ChangeVersion
    FROM (SELECT TOP (1) ChangeVersion FROM dms.DocumentDeleteEvent WITH (INDEX (PK_DocumentDeleteEvent))
          WHERE ChangeVersion <= @max_version AND CreatedAt >= @cutoff ORDER BY ChangeVersion) AS young
) AS youngest;
