-- sql/sqlserver/functions/tracked_etag.v1.sql: the etag of a body that is kept: the Base64 of its SHA-256.
CREATE FUNCTION dms.tracked_etag (@body nvarchar(max)) RETURNS varchar(64)
AS
BEGIN
    DECLARE @json nvarchar(200) = (SELECT HASHBYTES('SHA2_256', @body) AS v FOR JSON PATH, WITHOUT_ARRAY_WRAPPER);
    RETURN JSON_VALUE(@json, '$.v');
END;
-- drop: DROP FUNCTION dms.tracked_etag;
