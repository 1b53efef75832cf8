-- sql/postgres/queries/connect.sql: what a new connection needs, whatever the defaults of its role and database: the driver reads dates in ISO.
SELECT set_config('datestyle', 'ISO', false)
