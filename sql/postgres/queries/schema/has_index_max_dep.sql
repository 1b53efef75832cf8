-- sql/postgres/queries/schema/has_index_max_dep.sql: whether the index of index_max_dep.sql is there and can be read from. Gives: is_valid.
SELECT EXISTS (SELECT FROM pg_index WHERE indexrelid = to_regclass('dms.IX_Document_MaxDepIdentityVersion') AND indisvalid AND indisready) AS is_valid
