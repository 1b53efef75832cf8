-- sql/postgres/adopting/online.sql: for what runs outside of a transaction, and long: nobody waits for the locks that it waits for.
SET lock_timeout = 0;
SET statement_timeout = 0;
