-- sql/postgres/queries/operate/begin_repair.sql: a repair gives up on a lock, and changes nothing in that transaction, rather than make writers
-- queue behind it. A superuser writes as the installing role, so that what is made again is that role's, and triggers run with no more rights
-- than on any other day (invariant 13).
SELECT set_config('lock_timeout', '5s', true),
       (SELECT set_config('role', c.relowner::regrole::text, true)
        FROM pg_class AS c JOIN pg_roles AS r ON r.rolname = current_user AND r.rolsuper AND r.oid <> c.relowner
        WHERE c.oid = 'dms.Document'::regclass)
