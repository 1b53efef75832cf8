-- benchmarks/sql/published/schema.sql: the published "Option 1" (change journals and read-time derivation), rewritten from its description.
CREATE SCHEMA published;
SET search_path = published;
