-- sql/sqlserver/functions/tracked_neighbours.v1.sql: the other tracked tables that refer to a tracked table or that it refers to, as a JSON array of ids.
CREATE FUNCTION dms.tracked_neighbours (@tracked_id smallint) RETURNS nvarchar(max)
AS
BEGIN
    RETURN (
        SELECT CONCAT(N'[', STRING_AGG(CAST(n.id AS nvarchar(max)), N',') WITHIN GROUP (ORDER BY n.id), N']')
        FROM (
            SELECT f.child_id AS id FROM dms.tracked_references() AS f WHERE f.parent_id = @tracked_id AND f.child_id <> @tracked_id
            UNION
            SELECT f.parent_id FROM dms.tracked_references() AS f WHERE f.child_id = @tracked_id AND f.parent_id <> @tracked_id) AS n);
END;
-- drop: DROP FUNCTION dms.tracked_neighbours;
