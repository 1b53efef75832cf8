-- sql/postgres/tables/Document.MaxDepIdentityVersion.v1.sql: option max_dep_identity_version: the newest identity stamp among what a
-- document refers to, where that is above its own stamps. A constant default: no row is written. ALTER TABLE waits until nobody is
-- writing: whoever renames or refers from then on does it under the triggers.
DO $$
BEGIN
    IF to_regclass('dms.ResourceChange') IS NULL THEN
        RAISE EXCEPTION 'option max_dep_identity_version needs revision 0006'
            USING ERRCODE = 'DJ006', HINT = 'Upgrade to it first.';
    END IF;
END $$;
ALTER TABLE dms.Document ADD COLUMN MaxDepIdentityVersion bigint NOT NULL DEFAULT 0;
-- drop: ALTER TABLE dms.Document DROP COLUMN MaxDepIdentityVersion;
