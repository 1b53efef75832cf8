-- sql/postgres/queries/database/restore_settings.sql: gives the caller's transaction its own settings back.
-- Binds: settings (of settings.sql, as JSON).
SELECT pg_catalog.set_config(setting.key, setting.value, true) FROM pg_catalog.json_each_text(CAST(:settings AS pg_catalog.json)) AS setting
