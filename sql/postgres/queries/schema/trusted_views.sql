-- sql/postgres/queries/schema/trusted_views.sql: the rules of views of tracked tables, and the roles that `track --trust` or `track --renew --trust` was told to trust.
-- Ask only where nothing else in the schema is of another role: this reads dms.TrackedTable.
-- Gives: subject (as foreign_objects.sql has it), role.
SELECT format('rule "_RETURN" on dms.tracked_%s', t.TrackedTableId) AS subject, role FROM dms.TrackedTable AS t CROSS JOIN LATERAL unnest(t.TrustedRoles) AS role
