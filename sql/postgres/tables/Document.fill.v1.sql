-- sql/postgres/tables/Document.fill.v1.sql: documents that were written while no trigger stamped them get their first stamp, and with
-- it their events, from the triggers that are there now.
UPDATE dms.Document SET ContentVersion = NULL, IdentityVersion = NULL WHERE ContentVersion < 1 OR IdentityVersion < 1;
