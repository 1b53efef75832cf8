-- sql/postgres/queries/delete_consumer.sql: forgets a consumer; no row where there is none. Binds: name. Gives: name.
DELETE FROM dms.ChangeConsumer WHERE Name = CAST(:name AS varchar) RETURNING Name AS name
