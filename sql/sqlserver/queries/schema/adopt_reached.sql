-- sql/sqlserver/queries/schema/adopt_reached.sql: how far a fill is, no row where it has not begun. Binds: fill. Gives: through_id.
SELECT Through AS through_id FROM dms.Adoption WHERE Fill = :fill;
