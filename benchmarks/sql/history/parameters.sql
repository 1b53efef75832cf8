-- benchmarks/sql/history/parameters.sql: what the history is built for; a later run with the same numbers finds it built.
CREATE SCHEMA history;
CREATE TABLE history.Parameter (documents bigint NOT NULL, edges_per_document integer NOT NULL, events bigint NOT NULL, built boolean NOT NULL);
