-- sql/postgres/queries/spark/sources/part.sql: how a task copies the rows of another source of this folder, or some of them.
-- Braces: columns, source, name and condition, which are texts; whoever fills them in takes none of them from a user.
-- Plan: the source's. The driver puts it into a COPY.
SELECT {columns} FROM ({source}) AS {name} WHERE {condition}
