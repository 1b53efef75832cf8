-- sql/sqlserver/queries/read/images_since.sql: the version above which images are whole: where the option was added, or up to where
-- images were pruned; 0 before the first stamp.
SELECT MAX(ChangeVersion) AS change_version FROM dms.DocumentImageFloor;
