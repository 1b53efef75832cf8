-- sql/postgres/queries/operate/delete_consumer.sql: forgets a consumer; no row where there is none. Binds: name. Gives: name.
SELECT dropped.name FROM dms.drop_consumer(CAST(:name AS text)) AS dropped (name)
