-- sql/postgres/queries/database/revisions.sql: the revisions that are installed, the journal's and one of each option (dmsjournal/database/revisions.py tells
-- them apart); no row, or no such table, where nothing is.
SELECT version_num AS revision FROM dms.alembic_version ORDER BY version_num
