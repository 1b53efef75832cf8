-- sql/postgres/queries/demo/orders_of_renamed.sql: the orders of the customer that was renamed, from the tables.
SELECT o.id FROM shop.order AS o JOIN shop.customer AS c ON c.id = o.customer WHERE c.name = 'Ada Lovelace' ORDER BY o.id
