-- sql/sqlserver/tables/Document.fill.v1.sql: documents that were written while no trigger stamped them get their first stamp, and
-- with it their events, from the trigger that is there now. -1 is a signal: the trigger draws the stamp. So it was while it was not there.
UPDATE dms.Document SET ContentVersion = -1, IdentityVersion = -1 WHERE ContentVersion < 1 OR IdentityVersion < 1;
-- Nor did anybody keep the hashes of their key values: the trigger works them out anew.
UPDATE dms.Document SET KeyValuesHash = KeyValuesHash;
