-- sql/postgres/queries/demo/delete_order.sql: as well; the foreign key takes the lines along.
DELETE FROM shop.order WHERE id = 11
