-- sql/postgres/queries/operate/verify_feed.sql: what the feed's own tables lack. Gives: name, state; no row where all is well.
-- Generations are numbered from 1 in the order in which they begin, the first at 0.
SELECT 'feeddatabase' AS name, concat('has ', count(*), ' rows, not one') AS state FROM dms.FeedDatabase HAVING count(*) <> 1
UNION ALL
SELECT 'feedgeneration', 'lacks generations, or has them in another order'
FROM (SELECT Generation, BeginsAfter, row_number() OVER (ORDER BY BeginsAfter) AS place FROM dms.FeedGeneration) AS listed
HAVING count(*) = 0 OR min(BeginsAfter) <> 0 OR bool_or(Generation <> place)
