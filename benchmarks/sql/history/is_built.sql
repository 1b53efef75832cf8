-- benchmarks/sql/history/is_built.sql: one row if the history of these numbers is there. Binds: documents, edges_per_document, events.
SELECT true FROM history.Parameter
WHERE documents = :documents AND edges_per_document = :edges_per_document AND events = :events AND built
