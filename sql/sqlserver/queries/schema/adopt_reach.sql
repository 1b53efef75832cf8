-- sql/sqlserver/queries/schema/adopt_reach.sql: a batch of a fill is done, in its transaction. Binds: fill, through_id.
SET NOCOUNT ON;
DECLARE @fill nvarchar(64) = :fill, @through_id bigint = :through_id;
UPDATE dms.Adoption SET Through = @through_id WHERE Fill = @fill;
IF @@ROWCOUNT = 0
    INSERT INTO dms.Adoption (Fill, Through) VALUES (@fill, @through_id);
