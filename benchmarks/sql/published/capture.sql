-- benchmarks/sql/published/capture.sql: the published journals and the row-level trigger that fills them. Their rows hang on Document by
-- cascading foreign keys, and an insert writes to both.
CREATE TABLE published.DocumentChangeEvent (
    ChangeVersion bigint      NOT NULL,
    DocumentId    bigint      NOT NULL REFERENCES published.Document (DocumentId) ON DELETE CASCADE,
    ResourceKeyId smallint    NOT NULL REFERENCES published.ResourceKey (ResourceKeyId),
    CreatedAt     timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (ChangeVersion, DocumentId)
);
CREATE INDEX IX_DocumentChangeEvent_Resource ON published.DocumentChangeEvent (ResourceKeyId, ChangeVersion, DocumentId);
CREATE TABLE published.IdentityChangeEvent (
    ChangeVersion bigint      NOT NULL,
    DocumentId    bigint      NOT NULL REFERENCES published.Document (DocumentId) ON DELETE CASCADE,
    CreatedAt     timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (ChangeVersion, DocumentId)
);
CREATE FUNCTION published.journal() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' OR NEW.ContentVersion <> OLD.ContentVersion OR NEW.IdentityVersion <> OLD.IdentityVersion THEN
        INSERT INTO published.DocumentChangeEvent (ChangeVersion, DocumentId, ResourceKeyId)
        VALUES (greatest(NEW.ContentVersion, NEW.IdentityVersion), NEW.DocumentId, NEW.ResourceKeyId);
    END IF;
    IF TG_OP = 'INSERT' OR NEW.IdentityVersion <> OLD.IdentityVersion THEN
        INSERT INTO published.IdentityChangeEvent (ChangeVersion, DocumentId) VALUES (NEW.IdentityVersion, NEW.DocumentId);
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER TR_Document_Journal AFTER INSERT OR UPDATE ON published.Document
    FOR EACH ROW EXECUTE FUNCTION published.journal();
