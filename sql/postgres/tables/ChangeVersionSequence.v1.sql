-- sql/postgres/tables/ChangeVersionSequence.v1.sql: where stamps come from. CACHE 1: a cached sequence hands a session old values.
CREATE SEQUENCE IF NOT EXISTS dms.ChangeVersionSequence AS bigint START WITH 1 INCREMENT BY 1 MINVALUE 1 NO CYCLE CACHE 1;
COMMENT ON SEQUENCE dms.ChangeVersionSequence IS 'dmsjournal: the stamps';
-- Documents may be older than the sequence (a restore without it): it goes on above every stamp that they hold.
SELECT setval('dms.ChangeVersionSequence', stamped.newest)
FROM (SELECT max(greatest(ContentVersion, IdentityVersion)) AS newest FROM dms.Document) AS stamped
WHERE stamped.newest > (SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM dms.ChangeVersionSequence);
