-- sql/postgres/queries/schema/index_max_dep.sql: the index that pages of option max_dep_identity_version are read from, made while writers go on;
-- outside a transaction, and only once: it waits for another session that makes it, and leaves what that has left.
CREATE INDEX CONCURRENTLY IF NOT EXISTS IX_Document_MaxDepIdentityVersion ON dms.Document
    (ResourceKeyId, greatest(ContentVersion, IdentityVersion, MaxDepIdentityVersion), DocumentId)
