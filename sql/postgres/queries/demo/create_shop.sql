-- sql/postgres/queries/demo/create_shop.sql: the demo's ordinary tables: customers, their orders, and the lines of those.
DO $$
BEGIN
    CREATE SCHEMA shop;
    CREATE TABLE shop.customer (id int PRIMARY KEY, name text NOT NULL, email text);
    CREATE TABLE shop.order (id int PRIMARY KEY, customer int NOT NULL REFERENCES shop.customer, ordered date NOT NULL);
    CREATE INDEX ON shop.order (customer);
    CREATE TABLE shop.order_line ("order" int REFERENCES shop.order ON DELETE CASCADE, line int, product text NOT NULL, quantity int NOT NULL,
                                  PRIMARY KEY ("order", line));
    INSERT INTO shop.customer SELECT n, 'Customer ' || n, n || '@example.org' FROM generate_series(1, 100) AS n;
    INSERT INTO shop.order SELECT n, 1 + n % 100, date '2026-01-01' + n % 300 FROM generate_series(1, 1000) AS n;
    INSERT INTO shop.order_line SELECT n, line, 'Product ' || (n + line) % 50, line FROM generate_series(1, 1000) AS n, generate_series(1, 3) AS line;
END $$
