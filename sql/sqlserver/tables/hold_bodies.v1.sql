-- sql/sqlserver/tables/hold_bodies.v1.sql: no writer of bodies is on its way while option images comes or goes: a body written without the
-- trigger would have no image above DocumentImageFloor. Runs after hold_writers, which holds most of them. Waits at most for the lock timeout.
DECLARE @held bigint;
SELECT @held = COUNT_BIG(*) FROM (SELECT TOP (1) DocumentId FROM dms.DocumentCache WITH (TABLOCKX, HOLDLOCK)) AS body;
