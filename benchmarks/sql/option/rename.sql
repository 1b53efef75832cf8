-- benchmarks/sql/option/rename.sql: an identity change. Binds: child_id. Gives: its stamp.
UPDATE dms.Document SET IdentityVersion = NULL WHERE DocumentId = :child_id RETURNING IdentityVersion
