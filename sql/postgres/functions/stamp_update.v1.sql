-- sql/postgres/functions/stamp_update.v1.sql: the database draws every stamp itself, under the row lock (invariants 1 and 5): a changed
-- ContentVersion, IdentityVersion or KeyValues is the signal that content or identity changed; the value is never kept.
-- Fires: before update on dms.Document, each row. The row is locked by then, and OLD is its newest version.
-- Costs are per row: no SET clause, nothing of ours is called after the transaction's first stamp (the lines from `entered` on are
-- enter_change's), and no PERFORM, which runs a query where an assignment evaluates an expression. So every name, type and operator
-- is qualified, and IS DISTINCT FROM is not used (it looks its operator up): no search_path changes it.
CREATE FUNCTION dms.stamp_update() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER AS $$  -- writers need no right on the sequence
DECLARE
    content  boolean := COALESCE(NEW.ContentVersion OPERATOR(pg_catalog.<>) OLD.ContentVersion, true);
    identity boolean := COALESCE(NEW.IdentityVersion OPERATOR(pg_catalog.<>) OLD.IdentityVersion, true)
        OR COALESCE(NEW.KeyValues OPERATOR(pg_catalog.<>) OLD.KeyValues,
                    (NEW.KeyValues IS NULL) OPERATOR(pg_catalog.<>) (OLD.KeyValues IS NULL));
    entered  pg_catalog.text;
    floor    bigint;
    locked   boolean;
    stamp    bigint;
BEGIN
    IF NEW.DocumentId OPERATOR(pg_catalog.<>) OLD.DocumentId OR NEW.DocumentUuid OPERATOR(pg_catalog.<>) OLD.DocumentUuid
        OR NEW.ResourceKeyId OPERATOR(pg_catalog.<>) OLD.ResourceKeyId THEN
        RAISE EXCEPTION 'document % cannot change its DocumentId, DocumentUuid or ResourceKeyId', OLD.DocumentId
            USING ERRCODE = 'DJ002', HINT = 'Delete it and insert another.';
    END IF;
    NEW.CreatedAt := OLD.CreatedAt;
    IF content OR identity THEN
        entered := pg_catalog.current_setting('dms.entered_at', true);
        IF pg_catalog.length(entered) OPERATOR(pg_catalog.>) 0 THEN
            floor := entered;
            locked := pg_catalog.pg_advisory_xact_lock_shared(4920745542855688192 OPERATOR(pg_catalog.+)
                CASE WHEN floor OPERATOR(pg_catalog.<) 140737488355328 THEN floor
                     ELSE 140737488355328 OPERATOR(pg_catalog.+) (floor OPERATOR(pg_catalog.>>) 16) END) IS NOT NULL;
        ELSE
            floor := dms.enter_change();
        END IF;
        stamp := pg_catalog.nextval('dms.changeversionsequence');
        IF floor OPERATOR(pg_catalog.<) 0 OR stamp OPERATOR(pg_catalog.<=) floor THEN
            RAISE EXCEPTION 'stamp % is not above %, where its transaction entered', stamp, floor
                USING ERRCODE = 'DJ003', HINT = 'dms.entered_at belongs to dmsjournal: do not write it. dms.ChangeVersionSequence must keep CACHE 1.';
        END IF;
    END IF;
    IF content THEN
        NEW.ContentVersion := stamp;
        NEW.ContentLastModifiedAt := pg_catalog.clock_timestamp();
    ELSE
        NEW.ContentVersion := OLD.ContentVersion;
        NEW.ContentLastModifiedAt := OLD.ContentLastModifiedAt;
    END IF;
    IF identity THEN
        NEW.IdentityVersion := stamp;
        NEW.IdentityLastModifiedAt := CASE WHEN content THEN NEW.ContentLastModifiedAt ELSE pg_catalog.clock_timestamp() END;
    ELSE
        NEW.IdentityVersion := OLD.IdentityVersion;
        NEW.IdentityLastModifiedAt := OLD.IdentityLastModifiedAt;
    END IF;
    RETURN NEW;
END $$;
REVOKE EXECUTE ON FUNCTION dms.stamp_update() FROM PUBLIC;
-- drop: DROP FUNCTION dms.stamp_update();
