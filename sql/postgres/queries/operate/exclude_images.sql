-- sql/postgres/queries/operate/exclude_images.sql: keeps no images of a resource from now on, and answers none. Runs after enter_change: the stamp of the
-- row is its own. Binds: resource_key_id. Nothing happens where it is excluded already.
INSERT INTO dms.ImageExclusion (ResourceKeyId, ChangeVersion)
SELECT CAST(:resource_key_id AS smallint), nextval('dms.ChangeVersionSequence')
WHERE NOT EXISTS (SELECT FROM dms.ImageExclusion WHERE ResourceKeyId = CAST(:resource_key_id AS smallint))
