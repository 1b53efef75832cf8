-- sql/postgres/queries/operate/expire_images.sql: images are whole from here on: what did not fire left bodies without one. Runs after enter_change, in
-- the transaction that puts the triggers right, which no writer of bodies is on its way beside.
WITH before AS (DELETE FROM dms.DocumentImageFloor)
INSERT INTO dms.DocumentImageFloor (ChangeVersion) SELECT nextval('dms.ChangeVersionSequence')
