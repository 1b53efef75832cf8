-- sql/sqlserver/queries/operate/verify_feed.sql: what the feed's own tables lack. Gives: name, state; no row where all is well.
-- Generations are numbered from 1 in the order in which they begin, the first at 0.
SELECT N'feeddatabase' AS name, CONCAT(N'has ', COUNT(*), N' rows, not one') AS state FROM dms.FeedDatabase HAVING COUNT(*) <> 1
UNION ALL
SELECT N'feedgeneration', N'lacks generations, or has them in another order'
FROM (SELECT Generation, BeginsAfter, ROW_NUMBER() OVER (ORDER BY BeginsAfter) AS place FROM dms.FeedGeneration) AS listed
HAVING COUNT(*) = 0 OR MIN(BeginsAfter) <> 0 OR MAX(CASE WHEN Generation <> place THEN 1 ELSE 0 END) = 1;
