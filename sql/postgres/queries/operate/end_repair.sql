-- sql/postgres/queries/operate/end_repair.sql: ends what begin_repair set; its setting ends with the transaction in any case.
SET LOCAL lock_timeout TO DEFAULT
