-- benchmarks/sql/track/schema.sql: tables with 0, 2 and 5 foreign keys, in the schema that search_path names. A thousand rows of each stay, as in a
-- database that is in use: the planner takes any index of a table that was empty when it was analysed.
CREATE TABLE r0 (id int PRIMARY KEY, name text);
CREATE TABLE r1 (id int PRIMARY KEY, name text);
CREATE TABLE r2 (id int PRIMARY KEY, name text);
CREATE TABLE r3 (id int PRIMARY KEY, name text);
CREATE TABLE r4 (id int PRIMARY KEY, name text);
INSERT INTO r0 SELECT n, 'x' FROM generate_series(1, 1000) AS n;
INSERT INTO r1 SELECT n, 'x' FROM generate_series(1, 1000) AS n;
INSERT INTO r2 SELECT n, 'x' FROM generate_series(1, 1000) AS n;
INSERT INTO r3 SELECT n, 'x' FROM generate_series(1, 1000) AS n;
INSERT INTO r4 SELECT n, 'x' FROM generate_series(1, 1000) AS n;
CREATE TABLE t0 (id int PRIMARY KEY, note text);
CREATE TABLE t2 (id int PRIMARY KEY, note text, f0 int REFERENCES r0, f1 int REFERENCES r1);
CREATE TABLE t5 (id int PRIMARY KEY, note text, f0 int REFERENCES r0, f1 int REFERENCES r1, f2 int REFERENCES r2, f3 int REFERENCES r3, f4 int REFERENCES r4);
INSERT INTO t0 SELECT -n, 'stays' FROM generate_series(1, 1000) AS n;
INSERT INTO t2 SELECT -n, 'stays', n, n FROM generate_series(1, 1000) AS n;
INSERT INTO t5 SELECT -n, 'stays', n, n, n, n, n FROM generate_series(1, 1000) AS n;
