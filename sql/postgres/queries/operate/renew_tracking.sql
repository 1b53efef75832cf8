-- sql/postgres/queries/operate/renew_tracking.sql: takes in what has changed about a tracked table (functions/renew_tracking.v1.sql). Binds: table_name;
-- unseen (a truth value).
SELECT dms.renew_tracking(CAST(:table_name AS text), CAST(:unseen AS boolean)) AS renewed
