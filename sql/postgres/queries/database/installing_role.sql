-- sql/postgres/queries/database/installing_role.sql: the role that installed the journal: the current one where something of schema dms is its own, else
-- the owner of the revisions, or of the documents. Gives: name; null where there is neither. Reads the catalog alone.
SELECT CASE WHEN EXISTS (
                SELECT FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
                WHERE n.nspname = 'dms' AND c.relkind IN ('r', 'p', 'S', 'v') AND pg_get_userbyid(c.relowner) = current_user)
            THEN current_user
            ELSE (SELECT pg_get_userbyid(c.relowner) FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
                  WHERE n.nspname = 'dms' AND c.relname IN ('alembic_version', 'document') ORDER BY c.relname LIMIT 1) END AS name
