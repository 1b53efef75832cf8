-- benchmarks/sql/history/set_parameters.sql. Binds: documents, edges_per_document, events.
INSERT INTO history.Parameter VALUES (:documents, :edges_per_document, :events, false)
