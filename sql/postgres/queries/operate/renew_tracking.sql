-- sql/postgres/queries/operate/renew_tracking.sql: takes in what has changed about a tracked table (functions/renew_tracking.v1.sql). Binds: table_name;
-- unseen, trust (truth values).
SELECT dms.renew_tracking(CAST(:table_name AS text), CAST(:unseen AS boolean), CAST(:trust AS boolean)) AS renewed
