-- benchmarks/sql/existing/schema.sql: six tables with rows, as many in all as setting benchmark.rows says.
CREATE SCHEMA existing;
CREATE TABLE existing.customer (id int PRIMARY KEY, name text, note text);
CREATE TABLE existing.product (id int PRIMARY KEY, name text);
CREATE TABLE existing.account (id int PRIMARY KEY, customer int NOT NULL REFERENCES existing.customer, note text);
CREATE TABLE existing.order (id int PRIMARY KEY, customer int NOT NULL REFERENCES existing.customer, account int REFERENCES existing.account, note text);
CREATE TABLE existing.line ("order" int REFERENCES existing.order ON DELETE CASCADE, number int, product int NOT NULL REFERENCES existing.product, note text,
                            PRIMARY KEY ("order", number));
CREATE TABLE existing.visit (id int PRIMARY KEY, customer int REFERENCES existing.customer, note text);
INSERT INTO existing.customer SELECT n, 'c' || n, 'x' FROM generate_series(1, current_setting('benchmark.rows')::int / 10) AS n;
INSERT INTO existing.product SELECT n, 'p' || n FROM generate_series(1, current_setting('benchmark.rows')::int / 40) AS n;
INSERT INTO existing.account SELECT n, n, 'x' FROM generate_series(1, current_setting('benchmark.rows')::int * 3 / 40) AS n;
INSERT INTO existing.order SELECT n, 1 + n % (current_setting('benchmark.rows')::int / 10), 1 + n % (current_setting('benchmark.rows')::int * 3 / 40), 'x'
FROM generate_series(1, current_setting('benchmark.rows')::int / 4) AS n;
INSERT INTO existing.line SELECT n, number, 1 + (n + number) % (current_setting('benchmark.rows')::int / 40), 'x'
FROM generate_series(1, current_setting('benchmark.rows')::int / 4) AS n, generate_series(1, 2) AS number;
INSERT INTO existing.visit SELECT n, 1 + n % (current_setting('benchmark.rows')::int / 10), 'x' FROM generate_series(1, current_setting('benchmark.rows')::int / 20) AS n;
CREATE INDEX ON existing.order (customer);
CREATE INDEX ON existing.order (account);
CREATE INDEX ON existing.account (customer);
CREATE INDEX ON existing.line (product);
CREATE INDEX ON existing.visit (customer);
ANALYZE;
