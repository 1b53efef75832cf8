-- sql/sqlserver/queries/operate/exclude_images.sql: keeps no images of a resource from now on, and answers none. Runs after enter_change: the stamp of the
-- row is its own. Binds: resource_key_id. Nothing happens where it is excluded already.
SET NOCOUNT ON;
DECLARE @resource_key_id smallint = :resource_key_id, @stamp bigint;
IF NOT EXISTS (SELECT * FROM dms.ImageExclusion WHERE ResourceKeyId = @resource_key_id)
BEGIN
    SET @stamp = NEXT VALUE FOR dms.ChangeVersionSequence;
    INSERT INTO dms.ImageExclusion (ResourceKeyId, ChangeVersion) VALUES (@resource_key_id, @stamp);
END;
