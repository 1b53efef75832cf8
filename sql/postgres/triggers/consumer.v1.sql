-- sql/postgres/triggers/consumer.v1.sql: whatever right on the table somebody was given, a consumer's row stays its owner's.
CREATE TRIGGER ZZ_ChangeConsumer_Keep BEFORE INSERT OR DELETE OR UPDATE ON dms.ChangeConsumer
    FOR EACH ROW EXECUTE FUNCTION dms.keep_consumer();
