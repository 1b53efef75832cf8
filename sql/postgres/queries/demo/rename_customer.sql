-- sql/postgres/queries/demo/rename_customer.sql: what a program of the shop does.
UPDATE shop.customer SET name = 'Ada Lovelace' WHERE id = 7
