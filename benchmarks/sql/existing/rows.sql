-- benchmarks/sql/existing/rows.sql: the rows of the six tables.
SELECT (SELECT count(*) FROM existing.customer) + (SELECT count(*) FROM existing.product) + (SELECT count(*) FROM existing.account)
     + (SELECT count(*) FROM existing.order) + (SELECT count(*) FROM existing.line) + (SELECT count(*) FROM existing.visit)
