-- sql/postgres/tables/DocumentImage.v1.sql: option images: a document's body before and after a change, at the stamp of the change.
-- One row a document and stamp, and only where the body changed: docs/how-it-works.md, Images, says what an event without a row tells.
-- The highest version there is (2^63-1) is no stamp: such a row waits for the document's next event (keep_image, pair_image, bury_image).
-- IsDelete: its event is a tombstone. No foreign key to the journals: the check would be paid on every row; a prune takes images that lie
-- at or below their journal's floor.
-- LOCK: no writer is between a document and its body while the triggers come, so images are whole above DocumentImageFloor.
DO $$
BEGIN
    IF to_regclass('dms.ResourceChange') IS NULL THEN
        RAISE EXCEPTION 'option images needs revision 0006' USING ERRCODE = 'DJ006', HINT = 'Upgrade to it first.';
    END IF;
END $$;
LOCK TABLE dms.Document, dms.DocumentCache IN SHARE ROW EXCLUSIVE MODE;
CREATE TABLE dms.DocumentImage (
    ChangeVersion bigint  NOT NULL,
    DocumentId    bigint  NOT NULL,
    IsDelete      boolean NOT NULL,
    BodyBefore    jsonb   NULL,  -- null: there was none
    BodyAfter     jsonb   NULL,  -- null: there is none
    CONSTRAINT PK_DocumentImage PRIMARY KEY (ChangeVersion, DocumentId)
);
-- The body at an event that did not change it is what the document's next image has before.
CREATE INDEX IX_DocumentImage_Document ON dms.DocumentImage (DocumentId, ChangeVersion);
COMMENT ON TABLE dms.DocumentImage IS 'dmsjournal: bodies before and after';
-- One row: bodies that changed up to there have no image. A stamp of its own, as JournalFloor's are.
CREATE TABLE dms.DocumentImageFloor (
    ChangeVersion bigint NOT NULL CONSTRAINT PK_DocumentImageFloor PRIMARY KEY
);
INSERT INTO dms.DocumentImageFloor (ChangeVersion)
SELECT CASE WHEN (SELECT is_called FROM dms.ChangeVersionSequence) THEN nextval('dms.ChangeVersionSequence') ELSE 0 END;
COMMENT ON TABLE dms.DocumentImageFloor IS 'dmsjournal: images are whole above this version';
-- Resources of which no images are kept, each since a stamp of its own. Rows are only added: a snapshot from before a row has too many
-- images, which nobody reads; one from before a deleted row would have too few.
CREATE TABLE dms.ImageExclusion (
    ResourceKeyId smallint NOT NULL CONSTRAINT PK_ImageExclusion PRIMARY KEY
                  CONSTRAINT FK_ImageExclusion_ResourceKey REFERENCES dms.ResourceKey (ResourceKeyId),
    ChangeVersion bigint   NOT NULL
);
COMMENT ON TABLE dms.ImageExclusion IS 'dmsjournal: no images of these resources';
DO $$
DECLARE
    granted record;
BEGIN
    FOR granted IN
        SELECT CASE WHEN acl.grantee = 0 THEN 'PUBLIC' ELSE acl.grantee::regrole::text END AS role,
               array_agg(format('%s %s', c.relname, acl.privilege_type)) AS rights
        FROM pg_class AS c CROSS JOIN LATERAL aclexplode(c.relacl) AS acl
        WHERE c.oid IN ('dms.DocumentCache'::regclass, 'dms.DocumentChangeEvent'::regclass) AND acl.grantee <> c.relowner
        GROUP BY acl.grantee
    LOOP
        IF granted.rights @> ARRAY['documentcache SELECT', 'documentchangeevent SELECT'] THEN  -- who reads bodies and events
            EXECUTE format('GRANT SELECT ON dms.DocumentImage, dms.DocumentImageFloor, dms.ImageExclusion TO %s', granted.role);
        END IF;
        IF granted.rights @> ARRAY['documentchangeevent DELETE'] THEN  -- who prunes: without the bodies
            EXECUTE format('GRANT DELETE, SELECT (ChangeVersion, DocumentId, IsDelete) ON dms.DocumentImage TO %s', granted.role);
            EXECUTE format('GRANT SELECT, UPDATE (ChangeVersion) ON dms.DocumentImageFloor TO %s', granted.role);
        END IF;
    END LOOP;
END $$;
-- drop: DROP TABLE dms.ImageExclusion;
-- drop: DROP TABLE dms.DocumentImageFloor;
-- drop: DROP TABLE dms.DocumentImage;
