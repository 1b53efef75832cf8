-- sql/sqlserver/procedures/make_neighbours.v1.sql: makes the triggers of tracked tables anew (make_tracking.v1.sql) that refer to others, or that others refer to, by their ids (a JSON array):
-- they name each other. Taken in the order of the ids.
CREATE PROCEDURE dms.make_neighbours @ids nvarchar(max)
AS
BEGIN
    SET NOCOUNT ON;
    SET ROWCOUNT 0;  -- the caller's; it is the caller's again on return
    DECLARE @neighbour smallint = 0;
    WHILE 1 = 1
    BEGIN
        SELECT @neighbour = MIN(CAST(listed.value AS smallint)) FROM OPENJSON(@ids) AS listed WHERE CAST(listed.value AS smallint) > @neighbour;
        IF @neighbour IS NULL
            RETURN;
        EXEC dms.make_tracking @neighbour;
    END;
END;
-- drop: DROP PROCEDURE dms.make_neighbours;
