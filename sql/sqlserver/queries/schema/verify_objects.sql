-- sql/sqlserver/queries/schema/verify_objects.sql: what the schema is made of, for comparison with the shipped text.
-- Gives: kind (table, trigger, routine, view, order, index, constraint, sequence, option, partition), name, definition (what the server tells; null where
--   the name is all that is asked for), state: ok, or what is wrong with it.
SET NOCOUNT ON;
IF COALESCE(HAS_PERMS_BY_NAME(N'dms', N'SCHEMA', N'VIEW DEFINITION'), 0) = 0
    THROW 50006, N'the user may not see how schema dms is defined. GRANT VIEW DEFINITION ON SCHEMA::dms TO the user.', 1;
DECLARE @hidden TABLE (object_id int NOT NULL PRIMARY KEY);
IF OBJECT_ID(N'sys.security_predicates') IS NOT NULL  -- a compatible server may have no row level security
    INSERT INTO @hidden (object_id)
    SELECT DISTINCT p.target_object_id
    FROM sys.security_predicates AS p INNER JOIN sys.security_policies AS y ON y.object_id = p.object_id
    WHERE y.is_enabled = 1;
SELECT CASE o.type WHEN 'TR' THEN 'trigger' WHEN 'V' THEN 'view' ELSE 'routine' END AS kind, CAST(o.name AS nvarchar(256)) AS name,
       m.definition AS definition, CASE WHEN t.is_disabled = 1 THEN N'disabled' ELSE N'ok' END AS state
FROM sys.objects AS o
INNER JOIN sys.sql_modules AS m ON m.object_id = o.object_id
LEFT JOIN sys.triggers AS t ON t.object_id = o.object_id
WHERE o.schema_id = SCHEMA_ID(N'dms')
UNION ALL
SELECT 'order', t.name, CONCAT(N'first for ', LOWER(e.type_desc COLLATE Latin1_General_100_BIN2)), N'ok'  -- which triggers must fire before all others
FROM sys.triggers AS t INNER JOIN sys.trigger_events AS e ON e.object_id = t.object_id
WHERE t.parent_id = OBJECT_ID(N'dms.Document') AND e.is_first = 1
UNION ALL
SELECT 'table', o.name, NULL, CASE WHEN o.object_id IN (SELECT object_id FROM @hidden) THEN N'hides rows (SECURITY POLICY)' ELSE N'ok' END
FROM sys.tables AS o WHERE o.schema_id = SCHEMA_ID(N'dms')
UNION ALL
SELECT 'index', i.name, NULL, CASE WHEN i.is_disabled = 1 THEN N'disabled' ELSE N'ok' END
FROM sys.indexes AS i INNER JOIN sys.objects AS o ON o.object_id = i.object_id
WHERE o.schema_id = SCHEMA_ID(N'dms') AND o.type = 'U' AND i.name IS NOT NULL
UNION ALL
SELECT 'constraint', o.name, NULL,
       CASE WHEN f.is_disabled = 1 OR c.is_disabled = 1 THEN N'disabled'
            WHEN f.is_not_trusted = 1 OR c.is_not_trusted = 1 THEN N'not validated'
            WHEN CHARINDEX(N'].[', CONCAT(c.definition, d.definition)) > 0 THEN N'calls a function that is not the server''s' ELSE N'ok' END
FROM sys.objects AS o
LEFT JOIN sys.foreign_keys AS f ON f.object_id = o.object_id
LEFT JOIN sys.check_constraints AS c ON c.object_id = o.object_id
LEFT JOIN sys.default_constraints AS d ON d.object_id = o.object_id
WHERE o.schema_id = SCHEMA_ID(N'dms') AND o.type IN ('C', 'D', 'F', 'PK', 'UQ')
UNION ALL
SELECT 'sequence', s.name,
       CONCAT(TYPE_NAME(s.system_type_id), N' increment ', CAST(s.increment AS bigint), CASE WHEN s.is_cycling = 1 THEN N' cycle' ELSE N' no cycle' END),
       N'ok'
FROM sys.sequences AS s WHERE s.object_id = OBJECT_ID(N'dms.ChangeVersionSequence')
UNION ALL
SELECT 'partition', i.name, NULL, N'is not partitioned'  -- of option partitions
FROM sys.indexes AS i INNER JOIN sys.data_spaces AS place ON place.data_space_id = i.data_space_id
WHERE OBJECT_ID(N'dms.JournalPartition') IS NOT NULL AND place.type <> 'PS'
  AND i.object_id IN (OBJECT_ID(N'dms.DocumentChangeEvent'), OBJECT_ID(N'dms.IdentityChangeEvent'), OBJECT_ID(N'dms.KeyChangeEvent'),
                      OBJECT_ID(N'dms.DocumentDeleteEvent'))
UNION ALL
SELECT 'option', N'nested triggers', NULL, CASE WHEN CAST(value_in_use AS int) = 0 THEN N'off' ELSE N'ok' END
FROM sys.configurations WHERE name = N'nested triggers'
ORDER BY kind, name;
