-- sql/sqlserver/functions/tracking_of.v1.sql: what tracking a table is made of (tracking_text.v1.sql), a row an object: place (the order in which they are made), kind, name, and
-- the statement that makes it.
CREATE FUNCTION dms.tracking_of (@tracked_id smallint) RETURNS TABLE
AS
RETURN
    SELECT CAST(LEFT(o.text, 2) AS int) AS place, CASE SUBSTRING(o.text, 3, 1) WHEN N'v' THEN N'view' WHEN N'p' THEN N'procedure' ELSE N'trigger' END AS kind,
           CAST(SUBSTRING(o.text, 4, CHARINDEX(N' ', o.text) - 4) AS nvarchar(128)) AS name,
           CAST(SUBSTRING(o.text, CHARINDEX(N' ', o.text) + 1, LEN(o.text)) AS nvarchar(max)) AS statement
    FROM (SELECT CAST(s.value AS nvarchar(max)) AS text FROM STRING_SPLIT(dms.tracking_text(@tracked_id), NCHAR(30)) AS s) AS o;
-- drop: DROP FUNCTION dms.tracking_of;
