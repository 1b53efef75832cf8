-- sql/postgres/queries/schema/adopt_content.sql: the columns that adopt/content.sql reads, to the end of the transaction. Binds: columns (JSON array).
SELECT set_config('dms.content_columns', :columns, true)
