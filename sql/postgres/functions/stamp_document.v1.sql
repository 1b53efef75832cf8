-- sql/postgres/functions/stamp_document.v1.sql: the database draws every stamp itself, under the row lock (invariants 1 and 5).
-- Fires: before insert or update on dms.Document, each row. In an update a changed ContentVersion, IdentityVersion or KeyValues is
-- the signal that content or identity changed; the value is never kept.
-- Costs are per row: it runs with the caller's rights (USAGE on the sequence), has no SET clause and calls nothing of ours after the
-- transaction's first stamp; the lines from `entered` on are enter_change's, and why they stand here is docs/how-it-works.md, Costs.
-- Every name and operator is qualified, and IS DISTINCT FROM is not used (it looks its operator up): no search_path changes it.
CREATE FUNCTION dms.stamp_document() RETURNS trigger
LANGUAGE plpgsql AS $$
DECLARE
    content  boolean := true;
    identity boolean := true;
    entered  text;
    floor    bigint;
    stamp    bigint;
BEGIN
    IF TG_OP OPERATOR(pg_catalog.=) 'UPDATE' THEN
        content := COALESCE(NEW.ContentVersion OPERATOR(pg_catalog.<>) OLD.ContentVersion, true);
        identity := COALESCE(NEW.IdentityVersion OPERATOR(pg_catalog.<>) OLD.IdentityVersion, true)
            OR COALESCE(NEW.KeyValues OPERATOR(pg_catalog.<>) OLD.KeyValues,
                        (NEW.KeyValues IS NULL) OPERATOR(pg_catalog.<>) (OLD.KeyValues IS NULL));
        IF NEW.DocumentId OPERATOR(pg_catalog.<>) OLD.DocumentId OR NEW.DocumentUuid OPERATOR(pg_catalog.<>) OLD.DocumentUuid
            OR NEW.ResourceKeyId OPERATOR(pg_catalog.<>) OLD.ResourceKeyId THEN
            RAISE EXCEPTION 'document % cannot change its DocumentId, DocumentUuid or ResourceKeyId', OLD.DocumentId
                USING ERRCODE = 'DJ002', HINT = 'Delete it and insert another.';
        END IF;
        NEW.ContentVersion := OLD.ContentVersion;
        NEW.IdentityVersion := OLD.IdentityVersion;
        NEW.ContentLastModifiedAt := OLD.ContentLastModifiedAt;
        NEW.IdentityLastModifiedAt := OLD.IdentityLastModifiedAt;
        NEW.CreatedAt := OLD.CreatedAt;
        IF NOT (content OR identity) THEN
            RETURN NEW;
        END IF;
    END IF;

    entered := pg_catalog.current_setting('dms.entered_at', true);
    IF pg_catalog.length(entered) OPERATOR(pg_catalog.>) 0 THEN
        floor := entered;
        PERFORM pg_catalog.pg_advisory_xact_lock_shared(4920745542855688192 OPERATOR(pg_catalog.+)
            CASE WHEN floor OPERATOR(pg_catalog.<) 140737488355328 THEN floor
                 ELSE 140737488355328 OPERATOR(pg_catalog.+) (floor OPERATOR(pg_catalog.>>) 16) END);
    ELSE
        floor := dms.enter_change();
    END IF;
    stamp := pg_catalog.nextval('dms.changeversionsequence');
    IF floor OPERATOR(pg_catalog.<) 0 OR stamp OPERATOR(pg_catalog.<=) floor THEN
        RAISE EXCEPTION 'dms.entered_at holds %, which no transaction can have entered at', floor
            USING ERRCODE = 'DJ003', HINT = 'The setting belongs to dmsjournal: roll back, and do not write it.';
    END IF;

    IF content THEN
        NEW.ContentVersion := stamp;
        NEW.ContentLastModifiedAt := pg_catalog.clock_timestamp();
    END IF;
    IF identity THEN
        NEW.IdentityVersion := stamp;
        NEW.IdentityLastModifiedAt := CASE WHEN content THEN NEW.ContentLastModifiedAt ELSE pg_catalog.clock_timestamp() END;
    END IF;
    RETURN NEW;
END $$;
