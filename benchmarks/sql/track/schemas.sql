-- benchmarks/sql/track/schemas.sql: a schema a variant.
CREATE SCHEMA untracked;
CREATE SCHEMA tracked;
CREATE SCHEMA audit;
