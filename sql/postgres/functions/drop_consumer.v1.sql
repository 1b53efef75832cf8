-- sql/postgres/functions/drop_consumer.v1.sql: forgets a consumer of the role that asks for it (keep_consumer). Gives its name, no row where
-- there is none. See register_consumer.v1.sql.
CREATE FUNCTION dms.drop_consumer(consumer_name text) RETURNS SETOF text
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET row_security = off AS $$
BEGIN
    RETURN QUERY DELETE FROM dms.ChangeConsumer AS consumer WHERE consumer.Name = consumer_name RETURNING consumer.Name::text;
END $$;
REVOKE EXECUTE ON FUNCTION dms.drop_consumer(text) FROM PUBLIC;
-- drop: DROP FUNCTION dms.drop_consumer(text);
