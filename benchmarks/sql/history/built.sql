-- benchmarks/sql/history/built.sql: the history and all its copies are complete.
UPDATE history.Parameter SET built = true
