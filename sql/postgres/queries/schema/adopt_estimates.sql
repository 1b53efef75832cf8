-- sql/postgres/queries/schema/adopt_estimates.sql: how many documents and edges there are, by the last ANALYZE, else guessed by their size.
-- Gives: documents, edges.
SELECT coalesce(max(estimate) FILTER (WHERE name = 'document'), 0) AS documents, coalesce(max(estimate) FILTER (WHERE name = 'referenceedge'), 0) AS edges
FROM (SELECT relname AS name, CASE WHEN reltuples >= 0 THEN reltuples ELSE pg_relation_size(oid) / 100 END::bigint AS estimate
      FROM pg_class WHERE oid IN (to_regclass('dms.Document'), to_regclass('dms.ReferenceEdge'))) AS estimated
