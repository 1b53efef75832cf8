-- sql/sqlserver/queries/operate/remove_images.sql: removes images. Binds: rows (JSON array of {change_version, document_id}).
SET NOCOUNT ON;
DECLARE @rows nvarchar(max) = :rows;
DELETE image
FROM OPENJSON(@rows) WITH (change_version bigint '$.change_version', document_id bigint '$.document_id') AS listed
INNER JOIN dms.DocumentImage AS image ON image.ChangeVersion = listed.change_version AND image.DocumentId = listed.document_id;
