-- benchmarks/sql/track/audit.sql: a usual audit trigger: a row each, with the old and the new row as jsonb.
CREATE TABLE audit.log (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, at timestamptz NOT NULL DEFAULT clock_timestamp(),
                        by name NOT NULL DEFAULT current_user, relation text NOT NULL, operation text NOT NULL, old jsonb, new jsonb);
CREATE FUNCTION audit.note() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    INSERT INTO audit.log (relation, operation, old, new)
    VALUES (TG_RELID::regclass::text, TG_OP, CASE WHEN TG_OP <> 'INSERT' THEN to_jsonb(OLD) END, CASE WHEN TG_OP <> 'DELETE' THEN to_jsonb(NEW) END);
    RETURN NULL;
END $$;
CREATE TRIGGER a AFTER INSERT OR UPDATE OR DELETE ON audit.t0 FOR EACH ROW EXECUTE FUNCTION audit.note();
CREATE TRIGGER a AFTER INSERT OR UPDATE OR DELETE ON audit.t2 FOR EACH ROW EXECUTE FUNCTION audit.note();
CREATE TRIGGER a AFTER INSERT OR UPDATE OR DELETE ON audit.t5 FOR EACH ROW EXECUTE FUNCTION audit.note();
