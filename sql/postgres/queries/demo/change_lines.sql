-- sql/postgres/queries/demo/change_lines.sql: as well.
UPDATE shop.order_line SET quantity = 5 WHERE product = 'Product 1'
