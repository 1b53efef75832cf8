-- sql/postgres/queries/demo/change_email.sql: as well; no other table shows an address.
UPDATE shop.customer SET email = 'new@example.org' WHERE id = 8
