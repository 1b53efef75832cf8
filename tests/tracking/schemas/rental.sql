-- Films for rent: two references to one table, tables that refer to each other, an enum, arrays, a tsvector, partitions.
CREATE SCHEMA rental;
CREATE TYPE rental.rating AS ENUM ('G', 'PG', 'R');
CREATE DOMAIN rental.year AS int CHECK (VALUE BETWEEN 1901 AND 2155);
CREATE TABLE rental.language (language_id serial PRIMARY KEY, name char(20) NOT NULL);
CREATE TABLE rental.film (film_id serial PRIMARY KEY, title text NOT NULL, release rental.year, language_id int NOT NULL REFERENCES rental.language,
    original_language_id int REFERENCES rental.language ON DELETE SET NULL, rating rental.rating DEFAULT 'G', special_features text[],
    fulltext tsvector GENERATED ALWAYS AS (to_tsvector('simple', title)) STORED, last_update timestamptz NOT NULL DEFAULT now());
CREATE TABLE rental.actor (actor_id serial PRIMARY KEY, last_name text NOT NULL);
CREATE TABLE rental.film_actor (actor_id int REFERENCES rental.actor ON UPDATE CASCADE ON DELETE CASCADE,
    film_id int REFERENCES rental.film ON UPDATE CASCADE ON DELETE CASCADE, PRIMARY KEY (actor_id, film_id));
CREATE TABLE rental.store (store_id int PRIMARY KEY, manager int UNIQUE);
CREATE TABLE rental.staff (staff_id int PRIMARY KEY, name text, active boolean, store_id int NOT NULL REFERENCES rental.store, picture bytea);
ALTER TABLE rental.store ADD FOREIGN KEY (manager) REFERENCES rental.staff ON DELETE SET NULL;
CREATE TABLE rental.customer (customer_id int PRIMARY KEY, store_id int REFERENCES rental.store, email text UNIQUE);
CREATE TABLE rental.inventory (inventory_id int PRIMARY KEY, film_id int NOT NULL REFERENCES rental.film ON UPDATE CASCADE ON DELETE CASCADE,
    store_id int NOT NULL REFERENCES rental.store);
CREATE TABLE rental.rental (rental_id int PRIMARY KEY, inventory_id int NOT NULL REFERENCES rental.inventory ON DELETE CASCADE,
    customer_id int NOT NULL REFERENCES rental.customer, period tstzrange);
CREATE TABLE rental.payment (payment_id int, paid_on date, customer_id int REFERENCES rental.customer,
    rental_id int REFERENCES rental.rental ON DELETE SET NULL, amount numeric(5, 2), PRIMARY KEY (paid_on, payment_id)) PARTITION BY RANGE (paid_on);
CREATE TABLE rental.payment_2026_01 PARTITION OF rental.payment FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
CREATE TABLE rental.payment_2026_02 PARTITION OF rental.payment FOR VALUES FROM ('2026-02-01') TO ('2026-03-01');
INSERT INTO rental.language (name) VALUES ('English'), ('Italian');
INSERT INTO rental.film (title, release, language_id, original_language_id, special_features)
SELECT 'film ' || g, 2000 + g, 1, nullif(g % 3, 0), ARRAY['Trailers', 'Scenes'] FROM generate_series(1, 6) AS g;
INSERT INTO rental.actor (last_name) SELECT 'a' || g FROM generate_series(1, 5) AS g;
INSERT INTO rental.film_actor SELECT a, f FROM generate_series(1, 5) AS a, generate_series(1, 6) AS f WHERE (a + f) % 2 = 0;
INSERT INTO rental.store VALUES (1), (2);
INSERT INTO rental.staff VALUES (1, 'Mike', true, 1), (2, 'Jon', true, 2);
UPDATE rental.store SET manager = store_id;
INSERT INTO rental.customer SELECT g, 1 + g % 2, g || '@example.org' FROM generate_series(1, 4) AS g;
INSERT INTO rental.inventory SELECT g, 1 + g % 6, 1 + g % 2 FROM generate_series(1, 9) AS g;
INSERT INTO rental.rental SELECT g, g, 1 + g % 4, '[2026-01-01Z, 2026-01-08Z)' FROM generate_series(1, 9) AS g;
INSERT INTO rental.payment SELECT g, date '2026-01-25' + g, 1 + g % 4, g, 2.99 FROM generate_series(1, 9) AS g;
