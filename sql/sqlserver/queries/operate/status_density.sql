-- sql/sqlserver/queries/operate/status_density.sql: how many rows each journal has at the beginning of each range of versions.
-- Binds: ranges (JSON array of objects: ordinal; low, high, versions, inclusive); most (rows to count in a range, 1 or more).
-- Gives: ordinal; journal; counted, at most `most`; last_version, of the rows that were counted. A range without rows has no row.
-- Plan: a range of a primary key, at most `most` entries, for each range and journal. READUNCOMMITTED, as in status_events.sql.
SET NOCOUNT ON;
DECLARE @ranges nvarchar(max) = :ranges, @most bigint = :most;
DECLARE @wanted TABLE (Ordinal int NOT NULL PRIMARY KEY, Low bigint NOT NULL, High bigint NOT NULL);
INSERT INTO @wanted (Ordinal, Low, High)
SELECT listed.ordinal, listed.low, listed.high FROM OPENJSON(@ranges) WITH (ordinal int, low bigint, high bigint) AS listed;
SELECT wanted.Ordinal AS ordinal, journal.name AS journal, COUNT(*) AS counted, MAX(journal.ChangeVersion) AS last_version
FROM @wanted AS wanted
CROSS APPLY (
    SELECT N'DocumentChangeEvent' AS name, changed.ChangeVersion
    FROM (SELECT TOP (@most) ChangeVersion FROM dms.DocumentChangeEvent WITH (READUNCOMMITTED)
          WHERE ChangeVersion BETWEEN wanted.Low AND wanted.High ORDER BY ChangeVersion) AS changed
    UNION ALL
    SELECT N'IdentityChangeEvent', renamed.ChangeVersion
    FROM (SELECT TOP (@most) ChangeVersion FROM dms.IdentityChangeEvent WITH (READUNCOMMITTED)
          WHERE ChangeVersion BETWEEN wanted.Low AND wanted.High ORDER BY ChangeVersion) AS renamed
    UNION ALL
    SELECT N'DocumentDeleteEvent', deleted_event.ChangeVersion
    FROM (SELECT TOP (@most) ChangeVersion FROM dms.DocumentDeleteEvent WITH (READUNCOMMITTED)
          WHERE ChangeVersion BETWEEN wanted.Low AND wanted.High ORDER BY ChangeVersion) AS deleted_event
    UNION ALL
    SELECT N'KeyChangeEvent', rekeyed.ChangeVersion
    FROM (SELECT TOP (@most) ChangeVersion FROM dms.KeyChangeEvent WITH (READUNCOMMITTED)
          WHERE ChangeVersion BETWEEN wanted.Low AND wanted.High ORDER BY ChangeVersion) AS rekeyed
) AS journal
GROUP BY wanted.Ordinal, journal.name
ORDER BY wanted.Ordinal, journal.name
OPTION (LOOP JOIN);
