-- sql/postgres/tables/JournalFloor.raised.v1.sql: no parent was stamped while edges came and went, so what happened before is not known: the
-- floors rise to a stamp of their own.
UPDATE dms.JournalFloor SET ChangeVersion = given.floor
FROM (SELECT nextval('dms.ChangeVersionSequence') AS floor WHERE (SELECT is_called FROM dms.ChangeVersionSequence)
      OFFSET 0) AS given
WHERE Journal IN ('DocumentChangeEvent', 'IdentityChangeEvent');
