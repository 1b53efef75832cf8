-- sql/postgres/queries/end_repair.sql: ends what begin_repair set; its setting ends with the transaction in any case.
RESET lock_timeout
