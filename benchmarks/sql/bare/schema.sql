-- benchmarks/sql/bare/schema.sql: the tables without any capture; what a write costs that nobody can ask about.
CREATE SCHEMA bare;
SET search_path = bare;
