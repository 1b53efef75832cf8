-- sql/postgres/queries/database/enter_change.sql: enters the transaction among the writers, before it draws stamps itself (invariant 5).
SELECT dms.enter_change()
